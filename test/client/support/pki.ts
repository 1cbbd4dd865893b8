import { X509Certificate } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openssl } from '#support/openssl';

/** A certificate and its key: files and their texts. */
export interface TestIdentity {
  readonly certFile: string;
  readonly keyFile: string;
  readonly cert: string;
  readonly key: string;
  /** Base64url SHA-256 of the certificate. */
  readonly thumbprint: string;
}

/** A certificate authority of one test, in a folder of its own. */
export interface TestPki {
  readonly caFile: string;
  readonly ca: string;
  /**
   * Issues a certificate for a subject; `names` are DNS names or others (`IP:127.0.0.1`), `uris` by default the SPIFFE id of a service
   * for a certificate that has names.
   */
  issue(commonName: string, names?: readonly string[], uris?: readonly string[]): Promise<TestIdentity>;
}

const config = `[req]
distinguished_name = dn
[dn]
[ca]
basicConstraints = critical, CA:true
keyUsage = critical, keyCertSign
`;

async function must(folder: string, ...args: readonly string[]): Promise<void> {
  const { ok, output } = await openssl(folder, ...args);
  if (!ok) throw new Error(`openssl ${args[0]}: ${output}`);
}

function defaultUris(commonName: string, names: readonly string[]): readonly string[] {
  if (names.length === 0 || names.some((name) => name.startsWith('URI:'))) return [];
  return [`spiffe://signet.test/ns/default/sa/${commonName}`];
}

/** Makes an authority whose files are named after `name` in `folder`. */
export async function makePki(folder: string, name = 'ca'): Promise<TestPki> {
  const at = (file: string) => join(folder, file);
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
  writeFileSync(at(`${name}.cnf`), config);
  const common = ['-config', `${name}.cnf`, ...newKey, '-keyout'];
  const subject = ['-subj', `/CN=${name}`, '-days', '30', '-extensions', 'ca'];
  await must(folder, 'req', '-x509', ...common, `${name}.key.pem`, '-out', `${name}.pem`, ...subject);
  let serial = 100;

  return {
    caFile: at(`${name}.pem`),
    ca: readFileSync(at(`${name}.pem`), 'utf8'),
    async issue(commonName, names = [], uris = defaultUris(commonName, names)) {
      serial += 1;
      const file = `${name}.${serial}`;
      const named = names.map((each) => (each.includes(':') ? each : `DNS:${each}`));
      const alternatives = [...uris.map((uri) => `URI:${uri}`), ...named];
      if (alternatives.length > 0) writeFileSync(at(`${file}.ext`), `subjectAltName = ${alternatives.join(', ')}\n`);
      const csr = ['-out', `${file}.csr`, '-subj', `/CN=${commonName}`];
      await must(folder, 'req', '-new', ...common, `${file}.key.pem`, ...csr);
      const sign = ['-CA', `${name}.pem`, '-CAkey', `${name}.key.pem`, '-set_serial', String(serial), '-days', '30'];
      const extensions = alternatives.length > 0 ? ['-extfile', `${file}.ext`] : [];
      await must(folder, 'x509', '-req', '-in', `${file}.csr`, ...sign, ...extensions, '-out', `${file}.cert.pem`);
      const cert = readFileSync(at(`${file}.cert.pem`), 'utf8');
      return {
        certFile: at(`${file}.cert.pem`),
        keyFile: at(`${file}.key.pem`),
        cert,
        key: readFileSync(at(`${file}.key.pem`), 'utf8'),
        thumbprint: Buffer.from(new X509Certificate(cert).fingerprint256.replaceAll(':', ''), 'hex').toString(
          'base64url',
        ),
      };
    },
  };
}
