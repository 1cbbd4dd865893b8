import {
  bitString,
  DerError,
  DerReader,
  derTrue,
  element,
  octetString,
  oid,
  sequence,
  unsigned,
} from '@signet/policy-engine/internal/der';
import {
  altNamesOf,
  certificatesInPem,
  certificateToPem,
  keyIdentifierIn,
  readCertificate,
} from '@signet/server/x509/certificate-reader';
import { readTime, writeTime } from '@signet/server/x509/certificate-times';
import { oids } from '@signet/server/x509/oids';
import { writeAltNames } from '@signet/server/x509/subject-alt-names';
import test from 'ava';
import { commonName } from '#support/requests';

const refused = (message: string) => ({ instanceOf: DerError, message });

const algorithm = sequence(oid('1.2.840.10045.4.3.2'));
const time = (text: string, tag = 0x17) => element(tag, Buffer.from(text, 'latin1'));
const names = [{ kind: 'dns', value: 'api.catalog.signet.test' }] as const;
const altNames = sequence(oids.subjectAltName.der, octetString(writeAltNames(names)));
const keyId = sequence(oids.subjectKeyIdentifier.der, octetString(octetString(Buffer.of(1, 2, 3))));
const critical = sequence(oids.keyUsage.der, derTrue, octetString(Buffer.of(9)));

interface Shape {
  readonly version?: Buffer;
  readonly validity?: readonly Buffer[];
  /** `null`: the certificate has no such field. */
  readonly extensions?: readonly Buffer[] | null;
  readonly keyBits?: Buffer;
  /** Content that follows in the signed part, and in the whole. */
  readonly afterInfo?: readonly Buffer[];
  readonly after?: readonly Buffer[];
}

/** A certificate by hand: well formed unless its shape says otherwise. */
function certificate({
  version = element(0x02, Buffer.of(2)),
  validity = [time('250101000000Z'), time('350101000000Z')],
  extensions = [critical, keyId, altNames],
  keyBits = bitString(Buffer.of(4)),
  afterInfo = [],
  after = [],
}: Shape = {}): Buffer {
  const info = sequence(
    element(0xa0, version),
    unsigned(Buffer.of(0x80, 1)),
    algorithm,
    sequence(commonName('Signet CA')),
    sequence(...validity),
    sequence(commonName('catalog.api')),
    sequence(algorithm, keyBits),
    ...(extensions === null ? [] : [element(0xa3, sequence(...extensions))]),
    ...afterInfo,
  );
  return sequence(info, algorithm, bitString(Buffer.of(5)), ...after);
}

test('the fields of a certificate', (t) => {
  const read = readCertificate(certificate());
  t.is(read.serial, '8001');
  t.deepEqual(read.issuer, sequence(commonName('Signet CA')));
  t.deepEqual(
    read.subjectNames.map(({ attribute, value }) => [attribute, value]),
    [['commonName', 'catalog.api']],
  );
  t.deepEqual([read.notBefore, read.notAfter], [1_735_689_600, 2_051_222_400]);
  t.deepEqual(read.signature, Buffer.of(5));
  t.deepEqual(
    [...read.extensions.values()].map((extension) => extension.critical),
    [true, false, false],
  );
  t.deepEqual(read.extensions.get(oids.keyUsage.hex)?.value, Buffer.of(9));
  t.deepEqual(altNamesOf(read), names);
  t.deepEqual(keyIdentifierIn(read), Buffer.of(1, 2, 3));
});

test('a certificate without extensions has no names and no key identifier', (t) => {
  const { extensions, ...read } = readCertificate(certificate({ extensions: null }));
  t.is(extensions.size, 0);
  t.deepEqual(altNamesOf({ ...read, extensions }), []);
  t.is(keyIdentifierIn({ ...read, extensions }), undefined);
});

const faults: readonly (readonly [name: string, shape: Shape, message: string])[] = [
  ['version 1', { version: element(0x02, Buffer.of(0)) }, 'the version must be 3'],
  ['version 2', { version: element(0x02, Buffer.of(1)) }, 'the version must be 3'],
  ['a version of two octets', { version: element(0x02, Buffer.of(2, 2)) }, 'the version must be 3'],
  ['no version', { version: element(0x02) }, 'the version must be 3'],
  ['an extension that stands twice', { extensions: [keyId, altNames, keyId] }, 'an extension stands twice'],
  [
    'an extension with more in it',
    { extensions: [sequence(oids.keyUsage.der, octetString(), octetString())] },
    'an extension has more in it than it should',
  ],
  [
    'a third time',
    { validity: [time('250101000000Z'), time('350101000000Z'), time('350101000000Z')] },
    'the validity has more in it than it should',
  ],
  ['more in the signed part', { afterInfo: [sequence()] }, 'the signed part has more in it than it should'],
  ['more in the whole', { after: [sequence()] }, 'the certificate has more in it than it should'],
  // What no field looks into is DER as well.
  ['a public key that is not DER', { keyBits: Buffer.from('04810100', 'hex') }, 'a length is not in its shortest form'],
];
for (const [name, shape, message] of faults) {
  test(`refused: ${name}`, (t) => {
    t.throws(() => readCertificate(certificate(shape)), refused(message));
  });
}

test('refused: octets after the certificate', (t) => {
  const message = 'the message is followed by other bytes';
  t.throws(() => readCertificate(Buffer.concat([certificate(), Buffer.of(5, 0)])), refused(message));
});

const times: readonly (readonly [text: string, tag: number, seconds: number | undefined])[] = [
  ['250101000000Z', 0x17, 1_735_689_600],
  ['491231235959Z', 0x17, 2_524_607_999],
  ['500101000000Z', 0x17, -631_152_000],
  ['991231235959Z', 0x17, 946_684_799],
  ['20500101000000Z', 0x18, 2_524_608_000],
  ['20250101000000Z', 0x17, undefined],
  ['250101000000Z', 0x18, undefined],
  ['2501010000Z', 0x17, undefined],
  ['250101000000', 0x17, undefined],
  ['250101000000+0000', 0x17, undefined],
  ['251301000000Z', 0x17, undefined],
  ['250101000000Z', 0x16, undefined],
  ['20250101000000Z', 0x16, undefined],
];
for (const [text, tag, seconds] of times) {
  test(`a time: ${text} with tag ${tag}`, (t) => {
    const read = () => readTime(new DerReader(time(text, tag)), 'notAfter');
    if (seconds === undefined) t.throws(read, refused('notAfter is not a time'));
    else t.is(read(), seconds);
  });
}

test('times are written in the shorter form until the last second of 2049, then in the longer one', (t) => {
  t.deepEqual(writeTime(2_524_607_999), time('491231235959Z'));
  t.deepEqual(writeTime(2_524_608_000), time('20500101000000Z', 0x18));
  t.is(readTime(new DerReader(writeTime(1_735_689_600)), 'notAfter'), 1_735_689_600);
});

test('certificates of a PEM text, in their order', (t) => {
  const [one, two] = [certificate(), certificate({ extensions: null })];
  t.deepEqual(certificatesInPem(`a note\n${certificateToPem(one)}${certificateToPem(two)}`), [one, two]);
  for (const text of ['', 'a note', certificateToPem(one).replaceAll('CERTIFICATE', 'TRUSTED CERTIFICATE')]) {
    t.throws(() => certificatesInPem(text), refused('there is no certificate in PEM form'));
  }
});
