const labels = { certificate: 'CERTIFICATE', key: 'PRIVATE KEY' } as const;

/**
 * Reason why a file does not hold a PEM certificate or an unencrypted PEM private key, as the rest of a sentence that begins with the name of the
 * file; undefined when its form is right. Nothing of the content is quoted.
 */
export function pemFault(bytes: Uint8Array, wanted: keyof typeof labels): string | undefined {
  if (bytes.length === 0) return 'is empty';
  const [first, second] = bytes;
  if ((first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)) {
    return 'is UTF-16 text: save it as UTF-8';
  }
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
  const found = new Set(Array.from(text.matchAll(/-----BEGIN ([A-Z0-9 ]{1,40})-----/g), ([, label = '']) => label));
  const tool = wanted === 'key' ? 'openssl pkey' : 'openssl x509';
  if (found.size === 0 && first === 0x30) {
    return `is DER or PKCS #12, not PEM: convert DER with \`${tool} -inform DER -in FILE -out FILE.pem\``;
  }
  if (wanted === 'key') return keyFault(text, found);
  if (found.has(labels.certificate)) return undefined;
  if (found.has('CERTIFICATE REQUEST')) return 'holds a certificate request, not a certificate';
  return isKey(found) ? 'holds a private key, not a certificate' : 'holds no certificate in PEM form';
}

function keyFault(text: string, found: ReadonlySet<string>): string | undefined {
  if (found.has('ENCRYPTED PRIVATE KEY') || /^Proc-Type: 4,ENCRYPTED/m.test(text)) {
    return 'holds an encrypted private key: decrypt it with `openssl pkey -in FILE -out NEW-FILE`';
  }
  if (found.has('OPENSSH PRIVATE KEY')) return 'holds an OpenSSH private key, not one in PEM form (PKCS #8)';
  if (isKey(found)) return undefined;
  return found.has(labels.certificate) ? 'holds a certificate, not a private key' : 'holds no private key in PEM form';
}

function isKey(found: ReadonlySet<string>): boolean {
  return [...found].some((label) => label.endsWith(labels.key));
}
