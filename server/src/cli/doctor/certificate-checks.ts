import { createPrivateKey, X509Certificate } from 'node:crypto';
import { endsSoon, type Finding, spanOf } from './finding.ts';

/** PEM texts of a client. */
export interface IdentityTexts {
  readonly certificate: string;
  readonly key: string;
  readonly caBundle: string;
}

const renew = 'run `signet identity once --force`, or the program that renews certificates on this host';

const register =
  'get a join token (`signet instance token <domain.service> <id>`), and run `signet identity once` with it here';

/** Findings about the files of an identity by themselves. Texts that cannot be read are findings as well. */
export function checkCertificate(texts: IdentityTexts, now: number): readonly Finding[] {
  const chain = certificatesOf(texts.certificate);
  const [leaf, ...issuers] = chain;
  if (texts.certificate === '') {
    return [
      {
        check: 'certificate',
        state: 'failed',
        found: 'no certificate can be read: this host is not registered, or the files belong to another user',
        advice: register,
      },
    ];
  }
  if (leaf === undefined) {
    return [{ check: 'certificate', state: 'failed', found: 'the file holds no PEM certificate', advice: renew }];
  }
  return [lifeOf(leaf, now), keyOf(leaf, texts.key), chainOf(leaf, issuers, certificatesOf(texts.caBundle), now)];
}

function certificatesOf(pem: string): X509Certificate[] {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g) ?? [];
  return blocks.flatMap((block) => {
    try {
      return [new X509Certificate(block)];
    } catch {
      return [];
    }
  });
}

const clientAuth = '1.3.6.1.5.5.7.3.2';

function lifeOf(leaf: X509Certificate, now: number): Finding {
  const [from, to] = [leaf.validFromDate.getTime(), leaf.validToDate.getTime()];
  const name = leaf.subject.replaceAll('\n', ', ');
  const check = 'certificate';
  if (now < from) {
    const advice = 'check the clock of this host; if it is right, get another certificate';
    return { check, state: 'failed', found: `${name} is not valid before ${spanOf(from - now)} from now`, advice };
  }
  if (now >= to) return { check, state: 'failed', found: `${name} ended ${spanOf(now - to)} ago`, advice: renew };
  if (leaf.keyUsage?.includes(clientAuth) !== true) {
    const advice = 'get a certificate with the extended key usage clientAuth, which the server requires';
    return { check, state: 'failed', found: `${name} lacks the extended key usage clientAuth`, advice };
  }
  const found = `${name} is valid for ${spanOf(to - now)}`;
  return endsSoon(from, to, now) ? { check, state: 'warning', found, advice: renew } : { check, state: 'ok', found };
}

function keyOf(leaf: X509Certificate, key: string): Finding {
  const check = 'identity';
  try {
    if (leaf.checkPrivateKey(createPrivateKey(key))) {
      return strengthOf(leaf) ?? { check, state: 'ok', found: 'the key matches the certificate' };
    }
    const advice = 'use the two files of the same renewal; if a renewal was interrupted, run it again';
    return { check, state: 'failed', found: 'the key does not match the certificate', advice };
  } catch {
    const advice = 'use an unencrypted PEM private key that this user may read';
    return { check, state: 'failed', found: 'the key is not a PEM private key', advice };
  }
}

/** Advised RSA length: by NIST SP 800-57 Part 1 §5.6.3, 2048 bits are acceptable until 2030. */
const advisedRsaBits = 3072;

function strengthOf({ publicKey }: X509Certificate): Finding | undefined {
  const bits = publicKey.asymmetricKeyDetails?.modulusLength ?? advisedRsaBits;
  if (bits >= advisedRsaBits) return undefined;
  const found = `the key is RSA with ${bits} bits`;
  return { check: 'identity', state: 'warning', found, advice: 'use P-256, or RSA with 3072 bits, for the next key' };
}

function chainOf(leaf: X509Certificate, issuers: X509Certificate[], roots: X509Certificate[], now: number): Finding {
  const check = 'chain';
  const known = [...issuers, ...roots];
  let at = leaf;
  for (let steps = 0; steps < 8; steps += 1) {
    const root = roots.find((each) => at.fingerprint256 === each.fingerprint256 || isIssuer(at, each));
    if (root !== undefined) {
      if (now < root.validToDate.getTime()) return { check, state: 'ok', found: 'it chains to an authority in --ca' };
      const advice = 'get the current CA certificates from the operator of the server';
      return { check, state: 'failed', found: 'the authority in --ca has expired', advice };
    }
    const next = known.find((each) => each !== at && isIssuer(at, each));
    if (next === undefined) break;
    at = next;
  }
  const found = `no certificate for \`${at.issuer.replaceAll('\n', ', ')}\` is in the chain or in --ca`;
  const advice = 'append the intermediate certificates to its file, unless the server trusts another authority';
  return { check, state: 'warning', found, advice };
}

/** True if a certificate was issued under the name of another one, and signed with its key. */
export function isIssuer(certificate: X509Certificate, issuer: X509Certificate): boolean {
  return certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey);
}
