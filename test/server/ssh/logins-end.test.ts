import { createPrivateKey, generateKeyPairSync } from 'node:crypto';
import { parseDomainName, parsePrincipalName } from '@signet/policy-engine/names';
import { ForbiddenError } from '@signet/server/errors';
import { readSshCertificate } from '@signet/server/ssh/inspect-ssh';
import { type IssueSshDeps, issueUserCertificate } from '@signet/server/ssh/issue-ssh';
import { createSshAuthorityKey, sshAuthorityOf } from '@signet/server/ssh/ssh-authority';
import { parseSshCertRequest } from '@signet/server/ssh/ssh-csr';
import { formatSshPublicKey, sshPublicKeyOf } from '@signet/server/ssh/ssh-public-key';
import test from 'ava';
import { FakeClock } from '#support/clock';
import { snapshotOf } from '#support/domains';

/* A certificate for logins ends no later than the membership that gives the first of them. */

const clock = new FakeClock();
const start = clock.now() / 1000;
const olive = parsePrincipalName('user.olive');
const authority = sshAuthorityOf(createPrivateKey(createSshAuthorityKey('ed25519')));
const publicKey = formatSshPublicKey(sshPublicKeyOf(generateKeyPairSync('ed25519').publicKey));

/** Memberships of so many seconds: `deploy` by a role, `root` by another one. */
function snapshotFor(deploy: number, root: number) {
  const members = (seconds: number) => [{ name: 'user.olive', expires: (start + seconds) * 1000 }];
  return snapshotOf({
    'sys.auth': {
      roles: { deployers: members(deploy), admins: members(root), quiet: members(60) },
      rules: [
        'allow ssh_login ssh.deploy deployers',
        'allow ssh_login ssh.root admins',
        // An end of a role that gives none of the logins shortens nothing.
        'allow ssh_login ssh.other quiet',
      ],
    },
  });
}

interface Ask {
  readonly deploy: number;
  readonly root?: number;
  /** Membership in the role for `deploy` when the certificate is recorded. */
  readonly later?: number;
  readonly logins?: readonly string[];
}

async function ask({ deploy, root = 86_400, later = deploy, logins = ['deploy'] }: Ask): Promise<unknown> {
  const decided = snapshotFor(later, root);
  const deps: IssueSshDeps = {
    snapshot: () => snapshotFor(deploy, root),
    snapshotAt: async () => decided,
    clock,
    authorities: { user: authority },
    rules: { hostExpirySeconds: 60, userExpirySeconds: 3600, extensions: [], sourceAddresses: [] },
    loginDomain: parseDomainName('sys.auth'),
    randomBytes: (length) => Buffer.alloc(length, 1),
    log: {
      intend: async () => undefined,
      issued: async (_serial, _blob, conditions) => {
        await conditions?.decide({ state: { counter: 1 } } as never);
      },
    },
  };
  const request = parseSshCertRequest({
    certRequestData: { principals: logins, publicKey },
    certRequestMeta: { requestor: olive, certType: 'user' },
  });
  const user = { principal: olive, asking: { serial: '0a', notAfter: start + 86_400 } };
  try {
    const { certificate } = await issueUserCertificate(deps, user, request);
    const [, base64 = ''] = certificate.split(' ');
    return Number(readSshCertificate(Buffer.from(base64, 'base64')).validBefore) - start;
  } catch (error) {
    return error instanceof ForbiddenError ? error.message : error;
  }
}

const denied = (login: string) => `principal may not log in as \`${login}\``;
const cases: readonly (readonly [note: string, ask: Ask, expected: unknown])[] = [
  ['a membership of a day', { deploy: 86_400 }, 3600],
  ['a membership that ends with the certificate', { deploy: 3600 }, 3600],
  ['a membership that ends before it', { deploy: 3599 }, 3599],
  ['the first membership to end', { deploy: 900, root: 600, logins: ['deploy', 'root'] }, 600],
  ['the first membership to end, the other way round', { deploy: 600, root: 900, logins: ['deploy', 'root'] }, 600],
  ['a membership of another login', { deploy: 900, root: 600 }, 900],
  ['a second of membership', { deploy: 1 }, 1],
  ['less than a second of membership', { deploy: 0.5 }, denied('deploy')],
  ['less than a second for one of two', { deploy: 900, root: 0.5, logins: ['deploy', 'root'] }, denied('root')],
  ['a membership that was shortened meanwhile', { deploy: 3600, later: 3599 }, denied('deploy')],
];
for (const [note, asked, expected] of cases) {
  test(`the life of a certificate for logins: ${note}`, async (t) => t.is(await ask(asked), expected));
}
