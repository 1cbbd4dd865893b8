import 'reflect-metadata';
import { GeneralName, type GeneralNameType, SubjectAlternativeNameExtension } from '@peculiar/x509';
import { certificatesInPem, readCertificate } from '@signet/server/x509/certificate-reader';
import { carriesInstanceId } from '@signet/server/x509/instance-id';
import test from 'ava';
import { makeCertificate } from '#support/certificate-maker';

/* By which names a certificate is known as one of an instance, where nothing else is known of it. */

const cases: [note: string, names: readonly (readonly [GeneralNameType, string])[], isOne: boolean][] = [
  ['without names', [], false],
  ['with a name of its own', [['dns', 'i-1.player.media.sys-cloud.instanceid.signet.test']], true],
  ['with such a name in capitals', [['dns', 'i-1.InstanceId.Athenz.prov.example.com']], true],
  ['with a host name', [['dns', 'player.media.signet.test']], false],
  [
    'with a name that only looks like it',
    [
      ['dns', 'xinstanceid.signet.test'],
      ['dns', 'i-1.instanceids.test'],
    ],
    false,
  ],
  ['with the id in a URI', [['url', 'athenz://instanceid/sys.cloud/i-1']], true],
  ['with the id in a URI in capitals', [['url', 'Athenz://InstanceId/sys.cloud/i-1']], true],
  ['with another URI', [['url', 'spiffe://signet.test/ns/default/sa/a.instanceid.b']], false],
  ['with such a URI inside of another', [['url', 'https://x/athenz://instanceid/sys.cloud/i-1']], false],
  ['with an address of mail that looks like either', [['email', 'athenz://instanceid/a.instanceid.b']], false],
  [
    'with several names, of which the last tells',
    [
      ['dns', 'a.test'],
      ['url', 'athenz://instanceid/a/b'],
    ],
    true,
  ],
];
for (const [note, names, isOne] of cases) {
  test(`a certificate ${note} is ${isOne ? '' : 'not '}one of an instance`, async (t) => {
    const altNames = names.map(([kind, value]) => new GeneralName(kind, value));
    const extensions = altNames.length === 0 ? [] : [new SubjectAlternativeNameExtension(altNames)];
    const [der = Buffer.of()] = certificatesInPem((await makeCertificate({ name: 'media.player', extensions })).pem);
    t.is(carriesInstanceId(readCertificate(der)), isOne);
  });
}
