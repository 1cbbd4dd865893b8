import { createPrivateKey, createPublicKey, X509Certificate } from 'node:crypto';
import { lstatSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { addressesOf, hostOf, type ServerConfig } from '../../config/config.ts';
import { isLoopback } from '../../config/store-place.ts';
import { certificatesInPem } from '../../x509/certificate-reader.ts';
import type { Finding } from './finding.ts';

/* Pending steps after a server was set up. */

/** Checks that other machines can reach the server by its advertised addresses. */
export function checkAddresses(config: ServerConfig): Finding {
  const check = 'address';
  const { listen } = config;
  const { baseUrl, issuer } = addressesOf(config, listen.port);
  if (isLoopback(listen.host)) {
    if (isLoopback(hostOf(baseUrl))) return { check, state: 'ok', found: `clients on this machine call ${baseUrl}` };
    const found = `\`baseUrl\` is ${baseUrl}, but the server accepts connections from this machine only (\`listen.host\` ${listen.host})`;
    const advice = 'set `listen.host`, e.g. to `0.0.0.0`, unless a load balancer on this machine forwards connections';
    return { check, state: 'warning', found, advice };
  }
  const advice = 'set `baseUrl` to the address that clients use, and let `tls.certificate` hold its host';
  for (const [option, address] of Object.entries({ baseUrl, issuer })) {
    const host = hostOf(address);
    if (!isLoopback(host) && host !== '0.0.0.0' && host !== '::') continue;
    const found = `\`${option}\` is ${address}, but the server accepts connections from other machines (\`listen.host\` ${listen.host})`;
    return { check, state: 'warning', found, advice };
  }
  return { check, state: 'ok', found: `clients call ${baseUrl}` };
}

/** Finding about a root's private key that lies unencrypted beside its certificate, or beside the configuration. */
export function checkRootKey({ file, tls, certificates }: ServerConfig): Finding {
  const check = 'root key';
  const roots = [...new Set([tls.clientCa, certificates.roots])];
  const keys = new Set(roots.flatMap(rootKeysIn));
  const folders = new Set([...roots, file].map((path) => dirname(path)));
  const found = [...folders].flatMap(keyFilesIn).find((path) => keys.has(publicHalfOf(path) ?? ''));
  if (found === undefined) return { check, state: 'ok', found: 'no unencrypted root key is on this machine' };
  const advice = 'move it to offline storage: no server needs it';
  return { check, state: 'warning', found: `the unencrypted root key is on this machine: \`${found}\``, advice };
}

/** The public keys of the self-signed certificates in a file. */
function rootKeysIn(file: string): string[] {
  try {
    const certificates = certificatesInPem(readFileSync(file, 'utf8')).map((der) => new X509Certificate(der));
    const own = certificates.filter((certificate) => certificate.checkIssued(certificate));
    return own.map(({ publicKey }) => publicKey.export({ format: 'pem', type: 'spki' }).toString());
  } catch {
    // A server that cannot read it says so itself.
    return [];
  }
}

/** Larger files hold more than a key. */
const keyFileBytes = 65_536;

function keyFilesIn(folder: string): string[] {
  try {
    const files = readdirSync(folder).filter((name) => /\.(pem|key)$/.test(name));
    return files
      .map((name) => join(folder, name))
      .filter((path) => {
        const stats = lstatSync(path);
        return stats.isFile() && stats.size <= keyFileBytes;
      });
  } catch {
    return [];
  }
}

/** The public half of an unencrypted private key; undefined for any other file. */
function publicHalfOf(file: string): string | undefined {
  try {
    const text = readFileSync(file, 'utf8');
    if (!text.includes('PRIVATE KEY-----')) return undefined;
    return createPublicKey(createPrivateKey(text)).export({ format: 'pem', type: 'spki' }).toString();
  } catch {
    return undefined;
  }
}
