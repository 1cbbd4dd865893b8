import { parseDomainName, parsePathElement, parsePrincipalName, parseServiceName } from '@signet/policy-engine/names';
import { ForbiddenError } from '@signet/server/errors';
import { type AttestInput, hostCertificate } from '@signet/server/instances/attest-instance';
import type { InstanceDeps, IssueHostCertificate } from '@signet/server/instances/instance-deps';
import type { SshHost } from '@signet/server/ssh/issue-ssh';
import { signetForms } from '@signet/server/x509/name-forms';
import test from 'ava';
import { snapshotOf } from '#support/domains';

/* For which names an instance gets an SSH host certificate, and that the right to it is asked for when they are. */

const key = {
  provider: parsePrincipalName('sys.cloud'),
  domain: parseDomainName('media'),
  service: parseServiceName('player'),
  instanceId: parsePathElement('i-1'),
};
const snapshot = snapshotOf({
  'sys.auth': { roles: { providers: ['sys.cloud'] }, rules: ['allow launch hostname.hosts.example providers'] },
});
const deps = {
  clock: { now: () => 1 },
  hosts: {
    rules: { trustDomain: 'signet.test', dnsSuffix: 'signet.test', forms: signetForms },
    isServerHost: (name: string) => name === 'auth.test',
  },
} as unknown as Pick<InstanceDeps, 'clock' | 'hosts'>;
const asking = {} as SshHost['asking'];

/** Requested names of the certificate; undefined without a request. */
async function asked(ssh: boolean, more: { readonly hostname?: string; readonly stated?: readonly string[] } = {}) {
  const altNames = [
    { kind: 'uri', value: 'spiffe://signet.test/ns/default/sa/media.player' },
    { kind: 'ip', value: '0a000001' },
    { kind: 'dns', value: 'i-1.player.media.sys-cloud.instanceid.signet.test' },
    { kind: 'dns', value: 'i-2.player.media.sys-cloud.instanceid.signet.test' },
    { kind: 'dns', value: '*.player.media.signet.test' },
    { kind: 'dns', value: 'player.media.signet.test' },
  ];
  const input = { key, names: { altNames }, information: { hostname: more.hostname } } as unknown as AttestInput;
  const attested = { ssh, sshPrincipals: more.stated, maxSeconds: 60 } as unknown as Parameters<
    typeof hostCertificate
  >[3]['attested'];
  let host: Parameters<IssueHostCertificate>[1] | undefined;
  const issue = (async (_: unknown, given: typeof host) => {
    host = given;
  }) as unknown as IssueHostCertificate;
  let allowed = true;
  const authorize = () => {
    if (!allowed) throw new ForbiddenError('no longer');
  };
  await hostCertificate(deps, issue, input, { attested, asking, authorize });
  const names = host?.namesAt(snapshot);
  allowed = false;
  return { names, seconds: host?.maxSeconds, late: () => host?.namesAt(snapshot) };
}

const own = ['i-1.player.media.sys-cloud.instanceid.signet.test', 'player.media.signet.test'];

test('the DNS names of its X.509 certificate are its host names: no address, no wildcard, no name of another instance', async (t) => {
  const { names, seconds } = await asked(true);
  t.deepEqual([names, seconds], [own, 60]);
});

test('names that its provider states count where policy lets it vouch for them', async (t) => {
  const stated = ['a.hosts.example', 'A.HOSTS.example', 'a.other.example', 'auth.test'];
  const { names } = await asked(true, { hostname: 'h.hosts.example', stated });
  t.deepEqual(names, [...own, 'h.hosts.example', 'a.hosts.example', 'A.HOSTS.example']);
});

test('an instance whose provider does not allow it gets none', async (t) => {
  t.deepEqual((await asked(false)).names, undefined);
});

test('the right to it is asked for when the names are, not only before', async (t) => {
  const { late } = await asked(true);
  t.throws(late, { instanceOf: ForbiddenError, message: 'no longer' });
});
