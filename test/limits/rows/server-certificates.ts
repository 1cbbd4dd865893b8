import { generateKeyPairSync, X509Certificate } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '@signet/policy-engine/clock';
import { bitString, checkDer, DerReader, derNull, oid, sequence, unsigned } from '@signet/policy-engine/internal/der';
import { parseDomainName, parseServiceName } from '@signet/policy-engine/names';
import { openClientTrust } from '@signet/server/http/client-trust';
import { readSshCertificate } from '@signet/server/ssh/inspect-ssh';
import { parseSshCsr, requestSchema } from '@signet/server/ssh/ssh-csr';
import { parseHostName } from '@signet/server/ssh/ssh-names';
import { hostProfile, type SshRules, userProfile } from '@signet/server/ssh/ssh-profile';
import { parseSshPublicKey } from '@signet/server/ssh/ssh-public-key';
import { writeMpint, writeString } from '@signet/server/ssh/wire';
import { createAuthorities, issueIdentity } from '@signet/server/x509/certificate-authority';
import { parseCertificateRequest } from '@signet/server/x509/csr';
import { grantServiceNames } from '@signet/server/x509/csr-rules';
import { readName, relativeName } from '@signet/server/x509/distinguished-name';
import { openIssuers } from '@signet/server/x509/issuers';
import { signetForms } from '@signet/server/x509/name-forms';
import { isDnsName, suffixesOf } from '@signet/server/x509/naming';
import { oids } from '@signet/server/x509/oids';
import { readAltNames, writeAltNames } from '@signet/server/x509/subject-alt-names';
import { parseSubjectKey } from '@signet/server/x509/subject-key';
import { makeAuthority } from '#support/authority';
import { issueChain } from '#support/chain';
import { ecPair, requestPem } from '#support/requests';
import { temporaryFolder } from '#support/temp';
import { maximum, minimum, type Row, refusal } from '../row.ts';

/** Odd number of `bits` bits, big-endian. */
function modulus(bits: number): Buffer {
  const bytes = Buffer.alloc(Math.ceil(bits / 8));
  bytes[0] = 1 << ((bits - 1) % 8);
  bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) | 1;
  return bytes;
}

const exponent = Buffer.of(1, 0, 1);

function rsaSubjectKey(bits: number): unknown {
  const algorithm = sequence(oid('1.2.840.113549.1.1.1'), derNull);
  return parseSubjectKey(sequence(algorithm, bitString(sequence(unsigned(modulus(bits)), unsigned(exponent)))));
}

function rsaSshKey(bits: number): unknown {
  const blob = Buffer.concat([writeString('ssh-rsa'), writeMpint(exponent), writeMpint(modulus(bits))]);
  return parseSshPublicKey(`ssh-rsa ${blob.toString('base64')}`);
}

const ed25519 = (() => {
  const { x = '' } = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' });
  const blob = Buffer.concat([writeString('ssh-ed25519'), writeString(Buffer.from(x, 'base64url'))]);
  return `ssh-ed25519 ${blob.toString('base64')}`;
})();

const subject = { keyId: 'k', principals: ['p'], serial: 1n, notAfter: Number.MAX_SAFE_INTEGER };
const ssh = { extensions: [], sourceAddresses: [] } as unknown as SshRules;
const wireRequest = {
  certRequestData: { principals: ['p'], publicKey: ed25519 },
  certRequestMeta: { requestor: 'media.player', certType: 'user' },
};

const naming = { trustDomain: 'signet.test', dnsSuffix: 'signet.test', forms: signetForms };

/** Host name of `length` characters, with labels of sixty and a shorter last one. */
const hostOf = (length: number) => `${'a'.repeat(60)}.`.repeat(4).concat('b'.repeat(length - 244));

export const certificateRows: readonly Row[] = [
  maximum('server/src/x509/certificate-authority.ts', 'maxCommonName', async (length) => {
    const { intermediate } = await createAuthorities(systemClock);
    const identity = { domain: parseDomainName('d'), service: parseServiceName('s'.repeat(length - 2)) };
    await issueIdentity(intermediate, { ...identity, trustDomain: 'signet.test' }, 1, systemClock);
  }),
  maximum('server/src/x509/csr.ts', 'maxPemLength', async (length) => {
    const message = await refusal(() => parseCertificateRequest('x'.repeat(length)));
    return message !== '' && !message.includes('too long');
  }),
  maximum('policy-engine/src/der/der-reader.ts', 'maxDepth', (levels) => {
    let der: Buffer = Buffer.from(derNull);
    for (let level = 0; level < levels; level += 1) der = sequence(der);
    checkDer(der);
  }),
  maximum('server/src/x509/distinguished-name.ts', 'maxRelativeNames', (count) => {
    const names = Array.from({ length: count }, () => relativeName(oids.commonName, 'x'));
    return readName(new DerReader(sequence(...names))).length === count;
  }),
  maximum(
    'server/src/x509/naming.ts',
    'maxLabels',
    (labels) => suffixesOf(Array.from({ length: labels }, () => 'x').join('.')).length === labels - 1,
  ),
  maximum('server/src/x509/certificate-profile.ts', 'maxCommonNameLength', (length) => {
    const domain = parseDomainName('d');
    const service = parseServiceName('s'.repeat(length - 2));
    const request = parseCertificateRequest(requestPem(ecPair(), { commonNames: ['d.s'] }));
    const asked = { ...request, commonName: `${domain}.${service}` };
    grantServiceNames(asked, { domain, service }, naming, {
      mayUseSuffix: () => false,
      addressFault: () => undefined,
      dnsForm: 'd',
    });
  }),
  minimum('server/src/x509/certificate-profile.ts', 'minLifetimeSeconds', async (seconds, t) => {
    const folder = temporaryFolder(t);
    const { certificatePem, keyPem, rootPem } = await makeAuthority(folder);
    const at = (name: string) => join(folder, name);
    for (const [name, text] of Object.entries({ 'c.pem': certificatePem, 'k.pem': keyPem, 'r.pem': rootPem })) {
      writeFileSync(at(name), text);
    }
    const issuers = await openIssuers({
      sources: [{ certificate: at('c.pem'), key: at('k.pem'), state: 'active' }],
      roots: at('r.pem'),
      reloadIntervalMs: 3_600_000,
      onError: () => undefined,
    });
    t.teardown(() => issuers.close());
    issuers.signing((issuers.current().active[0]?.notAfter ?? 0) - seconds);
  }),
  minimum('server/src/x509/subject-key.ts', 'minRsaBits', rsaSubjectKey),
  maximum('server/src/x509/subject-key.ts', 'maxRsaBits', rsaSubjectKey),
  maximum('server/src/x509/naming.ts', 'maxNameLength', (length) => isDnsName(hostOf(length))),
  maximum('server/src/x509/naming.ts', 'maxLabelLength', (length) => isDnsName(`a.${'b'.repeat(length)}.c`)),
  maximum('server/src/ssh/ssh-names.ts', 'maxHostLength', (length) => parseHostName(hostOf(length))),
  maximum('server/src/ssh/inspect-ssh.ts', 'maxCertificateLength', async (length) => {
    const message = await refusal(() => readSshCertificate(Buffer.alloc(length)));
    return message !== '' && !message.includes('too long');
  }),
  maximum('server/src/ssh/ssh-profile.ts', 'maxHostLifetimeSeconds', (seconds) => {
    return hostProfile(subject, { ...ssh, hostExpirySeconds: seconds }, 1000).validBefore === 1000 + seconds;
  }),
  maximum('server/src/ssh/ssh-profile.ts', 'maxUserLifetimeSeconds', (seconds) => {
    return userProfile(subject, { ...ssh, userExpirySeconds: seconds }, 1000).validBefore === 1000 + seconds;
  }),
  maximum('server/src/ssh/ssh-profile.ts', 'maxPrincipals', (count) => {
    const principals = Array.from({ length: count }, (_, index) => `p${index}`);
    return hostProfile({ ...subject, principals }, { ...ssh, hostExpirySeconds: 60 }, 0).principals.length === count;
  }),
  minimum('server/src/ssh/ssh-public-key.ts', 'minRsaBits', rsaSshKey),
  maximum('server/src/ssh/ssh-public-key.ts', 'maxRsaBits', rsaSshKey),
  maximum('server/src/ssh/ssh-public-key.ts', 'maxKeyLineLength', (length) =>
    parseSshPublicKey(`${ed25519} `.padEnd(length, 'x')),
  ),
  maximum('server/src/ssh/ssh-csr.ts', 'maxSshCsrLength', (length) =>
    parseSshCsr(JSON.stringify(wireRequest).padEnd(length)),
  ),
  maximum('server/src/ssh/ssh-csr.ts', 'maxNameLength', (length) => {
    const certRequestData = { ...wireRequest.certRequestData, principals: ['p'.repeat(length)] };
    return requestSchema.safeParse({ ...wireRequest, certRequestData }).success;
  }),
  maximum('server/src/x509/subject-alt-names.ts', 'maxAltNames', (count) => {
    const names = Array.from({ length: count }, (_, index) => ({ kind: 'dns' as const, value: `n${index}` }));
    return readAltNames(writeAltNames(names)).length === count;
  }),
  maximum('server/src/x509/subject-alt-names.ts', 'maxAltNameLength', (length) =>
    readAltNames(writeAltNames([{ kind: 'uri', value: 'x'.repeat(length) }])),
  ),
  maximum('server/src/http/client-trust.ts', 'maxChain', async (length, t) => {
    const { root, intermediates, leaf } = await issueChain(length);
    const file = join(temporaryFolder(t), 'ca.pem');
    writeFileSync(file, root);
    return openClientTrust(file, () => intermediates.join('')).trusts(new X509Certificate(leaf));
  }),
];
