import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '@signet/policy-engine/clock';
import { intermediateCommand, requestCommand, rootCommand } from '@signet/server/cli/ca/new-authority';
import { createAuthorities } from '@signet/server/x509/certificate-authority';
import { issuerFromPem } from '@signet/server/x509/issuer-files';
import { namesOfAuthority } from '@signet/server/x509/new-authority';
import { readRootLists } from '@signet/server/x509/root-lists';
import test from 'ava';
import { temporaryFolder } from '#support/temp';

const run = (command: ReturnType<typeof rootCommand>, ...args: readonly string[]) =>
  command.parseAsync([...args, '--json'], { from: 'user' });

test('a root, a request of a server and an intermediate for it are made, each key where it is to stay', async (t) => {
  const folder = temporaryFolder(t);
  const at = (...parts: string[]) => join(folder, ...parts);
  const read = (...parts: string[]) => readFileSync(at(...parts), 'utf8');
  const mode = (...parts: string[]) => statSync(at(...parts)).mode & 0o777;
  await run(rootCommand(), '--out', at('root'), '--days', '900');
  const root = issuerFromPem(read('root/root.cert.pem'), read('root/root.key.pem'));
  const days = (root.notAfter - systemClock.now() / 1000) / 86_400;
  t.true(Math.abs(days - 900) < 1);
  t.deepEqual([mode('root'), mode('root/root.key.pem'), mode('root/root.cert.pem')], [0o700, 0o600, 0o644]);
  const list = { name: 'root.crl.pem', bytes: Buffer.from(read('root/root.crl.pem')) };
  t.is(readRootLists([list], read('root/root.cert.pem'))[0]?.id, root.id);

  await run(requestCommand(), '--out', at('server'));
  t.is(mode('server/intermediate.key.pem'), 0o600);
  const distributionPoints = ['http://pki.example/crl/{issuer}'];
  const before = await createAuthorities(systemClock, { trustDomain: 'corp.example', distributionPoints });
  writeFileSync(at('before.pem'), before.intermediate.certificate);
  const above = ['--certificate', at('root/root.cert.pem'), '--key', at('root/root.key.pem')];
  const asked = ['--csr', at('server/intermediate.csr.pem'), '--like', at('before.pem')];
  await run(intermediateCommand(), ...above, ...asked, '--out', at('made'));
  t.false(existsSync(at('made/intermediate.key.pem')), 'the key stays on the server');
  const made = issuerFromPem(read('made/intermediate.cert.pem'), read('server/intermediate.key.pem'));
  t.is(made.notAfter, root.notAfter, 'it ends with its root');
  t.deepEqual(
    namesOfAuthority(read('made/intermediate.cert.pem')),
    namesOfAuthority(before.intermediate.certificate),
    'below another root, with the address of its list',
  );
});

test('without a request the key of the intermediate is made beside it, with the names that are given', async (t) => {
  const folder = temporaryFolder(t);
  const at = (...parts: string[]) => join(folder, ...parts);
  const read = (...parts: string[]) => readFileSync(at(...parts), 'utf8');
  await run(rootCommand(), '--out', at('root'));
  const above = ['--certificate', at('root/root.cert.pem'), '--key', at('root/root.key.pem')];
  const names = ['--trust-domain', 'corp.example', '--name-constraints', 'example.org', '10.0.0.0/8', '--days', '400'];
  await run(intermediateCommand(), ...above, ...names, '--out', at('made'));
  const made = issuerFromPem(read('made/intermediate.cert.pem'), read('made/intermediate.key.pem'));
  t.is(statSync(at('made/intermediate.key.pem')).mode & 0o777, 0o600);
  t.deepEqual(made.nameConstraints[0]?.permitted.dns, ['corp.example', 'localhost', 'example.org']);
  t.deepEqual(made.nameConstraints[0]?.permitted.uri, ['corp.example']);
  t.true(made.nameConstraints[0]?.permitted.ip.includes('0a000000ff000000'));
});
