import type { Initialised } from '../initialise.ts';
import { quote } from './command-name.ts';

/** Next command for the operator, and its purpose. */
interface Step {
  readonly about: string;
  readonly commands: readonly string[];
}

/** The way from a new server to the first token of a first machine. `signet` is how this program is called. */
export function nextSteps(made: Initialised, signet: string): readonly Step[] {
  const serve = { about: 'start the server', commands: [`${signet} serve --config ${quote(made.config)}`] };
  const { administrator, baseUrl } = made;
  if (administrator?.client === undefined || baseUrl === null) return [serve];
  const call = (text: string) => `${signet} ${text}`;
  const trust = made.trustDomain === 'signet.local' ? '' : ` --trust-domain ${quote(made.trustDomain)}`;
  const server = `--url ${quote(baseUrl)} --ca ${quote(made.caBundle)}`;
  return [
    serve,
    {
      about: `in another terminal, as ${administrator.name}: check that the server answers`,
      commands: [`export SIGNET_CONFIG=${quote(administrator.client)}`, call('doctor')],
    },
    {
      about: 'create a domain with a service; the server may attest its instances, administrators may register them',
      commands: [
        call(`domain create films --admin ${administrator.name}`),
        call('service create films api'),
        call('role create films launchers'),
        call('role add films launchers sys.auth.server'),
        call(`policy add films instances --action launch --resource 'service.*' --role launchers`),
        call(`policy add films instances --action update --resource 'service.*' --role admin`),
      ],
    },
    {
      about: 'the first instance of that service: a join token for one registration, and its certificate',
      commands: [
        `(umask 077 && ${call('instance token films.api films-1')} > films-1.token)`,
        call(
          `identity once --name films.api --instance-id films-1 --attestation films-1.token --dir films-1 ${server}${trust}`,
        ),
      ],
    },
    {
      about: 'create a role for it, and get its first token',
      commands: [
        call('role create films reader'),
        call('role add films reader films.api'),
        call('token get --cert films-1/cert.pem --key films-1/key.pem --domain films'),
      ],
    },
  ];
}

/** Description of the result, for people. */
export function describeInitialised(made: Initialised, signet: string): string {
  const { administrator, root } = made;
  const steps = nextSteps(made, signet).flatMap(({ about, commands }) => [`# ${about}`, ...commands, '']);
  return [
    `configuration  ${made.config}`,
    ...(made.baseUrl === null ? [] : [`server         ${made.baseUrl}`]),
    `root           SHA-256 ${root.fingerprint}`,
    '               compare it when you copy the certificates in',
    `               ${made.caBundle}`,
    ...rootKeyLines(root, signet),
    ...(administrator === undefined ? [] : administratorLines(administrator)),
    '',
    'What to do next:',
    '',
    ...steps,
  ]
    .join('\n')
    .trimEnd();
}

function rootKeyLines({ key, isEncrypted }: Initialised['root'], signet: string): string[] {
  if (key === undefined) return [];
  return [
    `key of root    ${key}, ${isEncrypted === true ? 'encrypted with the passphrase' : 'not encrypted'}`,
    '               no server needs it: move it to offline storage;',
    `               \`${signet} ca root-crl\` reads it there`,
  ];
}

function administratorLines({ name, certificate, key, notAfter, policy }: NonNullable<Initialised['administrator']>) {
  return [
    `administrator  ${name}, by ${policy}`,
    `certificate    ${certificate}, until ${notAfter}`,
    `its key        ${key}: whoever has it can administer this server`,
  ];
}
