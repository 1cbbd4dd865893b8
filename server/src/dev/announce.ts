import { relative } from 'node:path';
import type { DevState } from '../cli/dev-state.ts';
import { consoleIdentity } from './identities.ts';
import { attestedService, attestingProvider, machineIds } from './machines.ts';

interface Step {
  readonly about: string;
  readonly command: string;
}

interface AnnouncementPlaces {
  /** Data folder of this world. */
  readonly data: string;
  readonly working: string;
  /** Command by which `signet` is run there. */
  readonly program: string;
}

/**
 * The block of commands that work, as they stand, in another terminal in the same folder. `attested`: whether the example provider may
 * vouch for machines here.
 */
export function announcement(state: DevState, places: AnnouncementPlaces, attested: boolean): string {
  const steps = stepsFor(state, places, attested);
  const lines = steps.flatMap(({ about, command }) => [`# ${about}`, command, '']);
  const heading = [
    `Signet is running: token server ${state.baseUrl}, example provider ${state.providerUrl}`,
    `Console of ${consoleIdentity} in a browser of this machine: ${state.consoleUrl}`,
    'Try it in another terminal, in this folder; Ctrl-C here stops everything.',
  ];
  return [...heading, '', ...lines].join('\n');
}

function stepsFor(state: DevState, places: AnnouncementPlaces, attested: boolean): Step[] {
  const { data: dataFolder, working } = places;
  const signet = places.program;
  const short = (path: string) => quote(shorter(path, working));
  const data = short(dataFolder) === '.signet' ? '' : ` --data ${short(dataFolder)}`;
  const config = data === '' ? '' : ` --config ${short(`${dataFolder}/signet.yaml`)}`;
  const curlAs = (service: string) => {
    const { cert = '', key = '' } = state.identities[service] ?? {};
    return `curl --silent --show-error --cert ${short(cert)} --key ${short(key)} --cacert ${short(state.caBundle)}`;
  };
  const status = `--write-out '\\n%{http_code}\\n'`;
  return [
    {
      about: 'an access token for media.player in the domain catalog, with this command',
      command: `${signet} token get${data} --as media.player --domain catalog`,
    },
    {
      about: 'the same with curl',
      command: `${curlAs('media.player')} ${state.baseUrl}/oauth2/token --data 'grant_type=client_credentials&scope=catalog:domain'`,
    },
    {
      about: 'its content, and whether its signature is valid',
      command: `TOKEN=$(${signet} token get${data} --as media.player --domain catalog)\n${signet} token inspect${data} "$TOKEN"`,
    },
    {
      about: 'the provider allows a reader to read: 200',
      command: `${curlAs('media.player')} ${status} -H "Authorization: Bearer $TOKEN" ${state.providerUrl}/movie`,
    },
    {
      about: 'but not to write: 403',
      command: `${curlAs('media.player')} ${status} -H "Authorization: Bearer $TOKEN" -X PUT -d '{}' ${state.providerUrl}/movie`,
    },
    {
      about: 'a service without a role gets no token: exit status 1',
      command: `${signet} token get${data} --as media.guest --domain catalog`,
    },
    {
      about: 'access checks on the token server',
      command: `${signet} access check${data} --as media.player read catalog:movie\n${signet} access check${data} --as media.player write catalog:movie`,
    },
    ...(attested ? [attestationStep(signet, short(dataFolder), data)] : []),
    {
      about: 'user.ann asks for a role for an hour, and user.bob approves it',
      command: `${signet} request role${data} catalog publisher --for 1h --reason "ticket 4711" --as user.ann\n${signet} approve${data} 1 --as user.bob`,
    },
    { about: 'the keys that sign', command: `${signet} keys list${config}` },
    { about: 'change policies/, then', command: `${signet} apply${config} policies` },
  ];
}

/** The way of a new machine to its certificate, and what the provider was asked on that way. */
function attestationStep(signet: string, folder: string, data: string): Step {
  const own = `${folder}/machines/${machineIds.spare}`;
  const who = `--name ${attestedService} --instance-id ${machineIds.spare} --provider ${attestingProvider}`;
  return {
    about: 'an instance presents its secret; the token server has the provider confirm it, and issues a certificate',
    command: `${signet} identity once${data} ${who} --attestation ${own}.secret --dir ${own}\ngrep 'machine confirmed' ${folder}/logs/example-provider.log`,
  };
}

function shorter(path: string, folder: string): string {
  const short = relative(folder, path);
  return short === '' || short.startsWith('..') ? path : short;
}

/** Quotes a text for a POSIX shell. */
export function quote(text: string): string {
  return /^[\w./:@%+=-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
