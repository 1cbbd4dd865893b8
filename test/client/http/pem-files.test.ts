import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pemFault } from '@signet/policy-engine/internal/files';
import test from 'ava';
import { temporaryFolder } from '#support/temp';

/* Files as OpenSSL and ssh-keygen write them, and what is said of one in the wrong place. */

test('each form of a certificate and of a key is told apart', (t) => {
  const at = (name: string) => join(folder, name);
  const folder = temporaryFolder(t);
  const openssl = (...args: readonly string[]) => execFileSync('openssl', args, { stdio: 'pipe' });
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', at('key.pem')];
  openssl('req', '-x509', ...key, '-subj', '/CN=a', '-out', at('cert.pem'));
  openssl('req', '-new', '-key', at('key.pem'), '-subj', '/CN=a', '-out', at('csr.pem'));
  openssl('x509', '-in', at('cert.pem'), '-outform', 'DER', '-out', at('cert.der'));
  openssl('pkey', '-in', at('key.pem'), '-outform', 'DER', '-out', at('key.der'));
  openssl('pkey', '-in', at('key.pem'), '-aes256', '-passout', 'pass:secret', '-out', at('encrypted.pem'));
  const old = ['-in', at('key.pem'), '-aes128', '-passout', 'pass:secret', '-out', at('old-encrypted.pem')];
  openssl('ec', ...old);
  openssl('ec', '-in', at('key.pem'), '-out', at('sec1.pem'));
  const both = ['-inkey', at('key.pem'), '-in', at('cert.pem'), '-passout', 'pass:secret', '-out', at('both.p12')];
  openssl('pkcs12', '-export', ...both);
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', at('ssh')]);
  const pem = readFileSync(at('cert.pem'), 'utf8');
  writeFileSync(at('utf16.pem'), Buffer.from(`\uFEFF${pem}`, 'utf16le'));
  writeFileSync(at('chain.pem'), pem + pem);
  writeFileSync(at('all.pem'), readFileSync(at('key.pem'), 'utf8') + pem);
  writeFileSync(at('windows.pem'), `\uFEFF${pem.replaceAll('\n', '\r\n')}`);
  writeFileSync(at('empty.pem'), '');
  const said = (name: string) =>
    (['certificate', 'key'] as const).map(
      (wanted) => pemFault(readFileSync(at(name)), wanted)?.split(':')[0] ?? 'fine',
    );
  t.deepEqual(said('cert.pem'), ['fine', 'holds a certificate, not a private key']);
  t.deepEqual(said('chain.pem'), ['fine', 'holds a certificate, not a private key']);
  t.deepEqual(said('windows.pem'), ['fine', 'holds a certificate, not a private key']);
  t.deepEqual(said('all.pem'), ['fine', 'fine']);
  t.deepEqual(said('key.pem'), ['holds a private key, not a certificate', 'fine']);
  t.deepEqual(said('sec1.pem'), ['holds a private key, not a certificate', 'fine']);
  t.deepEqual(said('csr.pem'), ['holds a certificate request, not a certificate', 'holds no private key in PEM form']);
  for (const name of ['cert.der', 'key.der', 'both.p12']) {
    t.deepEqual(said(name), ['is DER or PKCS #12, not PEM', 'is DER or PKCS #12, not PEM'], name);
  }
  for (const name of ['encrypted.pem', 'old-encrypted.pem']) {
    t.deepEqual(said(name), ['holds a private key, not a certificate', 'holds an encrypted private key'], name);
  }
  t.deepEqual(said('ssh'), [
    'holds a private key, not a certificate',
    'holds an OpenSSH private key, not one in PEM form (PKCS #8)',
  ]);
  t.deepEqual(said('utf16.pem'), ['is UTF-16 text', 'is UTF-16 text']);
  t.deepEqual(said('empty.pem'), ['is empty', 'is empty']);
});
