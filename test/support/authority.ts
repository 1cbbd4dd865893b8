import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openssl } from '#support/openssl';

/** A certificate authority made by `openssl`: a root, and an intermediate that it issued. PEM texts. */
export interface TestAuthority {
  readonly rootPem: string;
  readonly certificatePem: string;
  readonly keyPem: string;
}

export type AuthorityKind = 'P-256' | 'P-384' | 'rsa';

const newKey: Readonly<Record<AuthorityKind, readonly string[]>> = {
  'P-256': ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256'],
  'P-384': ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-384'],
  rsa: ['-newkey', 'rsa:2048'],
};

const config = `[req]
distinguished_name = dn
[dn]
[root]
basicConstraints = critical, CA:true
keyUsage = critical, keyCertSign, cRLSign
subjectKeyIdentifier = hash
[intermediate]
basicConstraints = critical, CA:true, pathlen:0
keyUsage = critical, keyCertSign, cRLSign
subjectKeyIdentifier = hash
authorityKeyIdentifier = keyid
`;

async function must(folder: string, ...args: readonly string[]): Promise<void> {
  const { ok, output } = await openssl(folder, ...args);
  if (!ok) throw new Error(`openssl ${args[0]}: ${output}`);
}

/** Makes an authority in `folder`, with its files named after `name`; it lives from now for `days`. */
export async function makeAuthority(
  folder: string,
  kind: AuthorityKind = 'P-256',
  name = 'test',
  days = 3650,
): Promise<TestAuthority> {
  writeFileSync(join(folder, 'ca.cnf'), config);
  const file = (what: string) => `${name}.${what}.pem`;
  const request = ['-nodes', '-config', 'ca.cnf', ...newKey[kind]];
  await must(
    folder,
    'req',
    '-x509',
    ...request,
    '-keyout',
    file('root-key'),
    '-out',
    file('root'),
    '-subj',
    `/CN=${name} root`,
    '-days',
    String(days),
    '-extensions',
    'root',
  );
  await must(
    folder,
    'req',
    '-new',
    ...request,
    '-keyout',
    file('key'),
    '-out',
    file('request'),
    '-subj',
    `/CN=${name} intermediate`,
  );
  await must(
    folder,
    'x509',
    '-req',
    '-in',
    file('request'),
    '-CA',
    file('root'),
    '-CAkey',
    file('root-key'),
    '-CAcreateserial',
    '-days',
    String(days),
    '-extfile',
    'ca.cnf',
    '-extensions',
    'intermediate',
    '-out',
    file('ca'),
  );
  const text = (what: string) => readFileSync(join(folder, file(what)), 'utf8');
  return { rootPem: text('root'), certificatePem: text('ca'), keyPem: text('key') };
}
