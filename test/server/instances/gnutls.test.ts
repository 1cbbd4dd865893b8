import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { instanceWorld, register } from '#support/instance-world';
import { openssl } from '#support/openssl';
import { runProgram } from '#support/run-program';

/* A second library reads what is issued and makes requests. */

const hasGnutls = spawnSync('certtool', ['--version']).status === 0;

test('GnuTLS accepts certificates and the revocation list, and refuses what is on it', async (t) => {
  if (!hasGnutls) {
    t.log('certtool is not installed: nothing was checked');
    t.pass();
    return;
  }
  const world = await instanceWorld(t);
  const at = (name: string) => join(world.folder, name);
  const certtool = (...args: readonly string[]) => runProgram('certtool', args);
  const { certificate } = await register(world, 'g-1');
  writeFileSync(at('g1.pem'), certificate);
  const reader = await world.identity('media.studio');
  const list = async (name: string) => writeFileSync(at(name), (await reader('/crl?format=pem')).text);
  await list('before.pem');
  const verify = (...more: readonly string[]) =>
    certtool('--verify', '--load-ca-certificate', at('bundle.pem'), '--infile', at('g1.pem'), ...more);
  for (const answer of [await verify(), await verify('--verify-purpose', '1.3.6.1.5.5.7.3.2')]) {
    t.is(answer.status, 0, answer.stdout + answer.stderr);
    t.regex(answer.stdout, /Chain verification output: Verified\. The certificate is trusted/);
  }
  await (await world.identity('media.admin'))('/instance/sys.auth.server/media/player/g-1', { method: 'DELETE' });
  await list('after.pem');
  for (const name of ['before.pem', 'after.pem']) {
    // signed by the intermediate, which is the issuer of the certificate
    const checked = await certtool(
      '--verify-crl',
      '--load-ca-certificate',
      at('issuer.cert.pem'),
      '--infile',
      at(name),
    );
    t.is(checked.status, 0, checked.stdout + checked.stderr);
    t.regex(checked.stdout, /Verified/);
  }
  t.is((await verify('--load-crl', at('before.pem'))).status, 0);
  const refused = await verify('--load-crl', at('after.pem'));
  t.not(refused.status, 0);
  t.regex(refused.stdout, /revoked/);
});

test('a request that GnuTLS made is accepted', async (t) => {
  if (!hasGnutls) {
    t.log('certtool is not installed: nothing was checked');
    t.pass();
    return;
  }
  const world = await instanceWorld(t);
  const at = (name: string) => join(world.folder, name);
  await openssl(world.folder, 'genpkey', '-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:P-256', '-out', 'key.pem');
  writeFileSync(
    at('template'),
    'cn = "media.player"\nuri = "spiffe://signet.test/ns/default/sa/media.player"\ndns_name = "g-2.instanceid.signet.test"\n',
  );
  const files = ['--load-privkey', at('key.pem'), '--template', at('template'), '--outfile', at('request.pem')];
  const made = await runProgram('certtool', ['--generate-request', ...files]);
  t.is(made.status, 0, made.stderr);
  const { answer } = await register(world, 'g-2', { csr: readFileSync(at('request.pem'), 'utf8') });
  t.is(answer.status, 201, answer.text);
});
