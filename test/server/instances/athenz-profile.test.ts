import { generateKeyPairSync, X509Certificate } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { sequence, set, utf8String } from '@signet/policy-engine/internal/der';
import { createSshAuthorityKey } from '@signet/server/ssh/ssh-authority';
import { formatSshPublicKey, sshPublicKeyOf } from '@signet/server/ssh/ssh-public-key';
import { oids } from '@signet/server/x509/oids';
import test from 'ava';
import { field, instanceWorld, json, keyPem } from '#support/instance-world';
import { ecPair, requestPem } from '#support/requests';
import { wholeFile } from '#support/start-server';
import { temporaryFolder } from '#support/temp';

const file = wholeFile();
const authority = join(temporaryFolder(file), 'host.pem');
writeFileSync(authority, createSshAuthorityKey(), { mode: 0o600 });
const world = await instanceWorld(file, { options: { profile: 'athenz', 'ssh.hostAuthority': authority } });
test.after.always(() => file.end());

const unit = set(sequence(oids.organizationalUnit.der, utf8String('sys.auth.server')));

test('a request as older agents make it registers: the id as a uri, their subject, minutes', async (t) => {
  const pair = ecPair();
  const csr = requestPem(pair, {
    commonNames: ['media.player'],
    moreSubject: [unit],
    altNames: [
      ['uri', 'spiffe://media/sa/player'],
      ['uri', 'athenz://instanceid/sys.auth.server/z-1'],
      ['dns', 'player.media.prov.example.com'],
    ],
  });
  const admin = await world.identity('media.admin');
  const token = await admin('/instance/sys.auth.server/media/player/z-1/token');
  const body = {
    provider: 'sys.auth.server',
    domain: 'media',
    service: 'player',
    attestationData: field(token.body, 'attestationData'),
    csr,
    expiryTime: 10,
  };
  const answer = await world.as()('/instance', json(body));
  t.is(answer.status, 201, answer.text);
  t.is(answer.headers['location'], '/zts/v1/instance/sys.auth.server/media/player/z-1');
  const certificate = String(field(answer.body, 'x509Certificate'));
  const leaf = new X509Certificate(certificate);
  t.is(leaf.subject, 'CN=media.player\nOU=sys.auth.server');
  t.is(
    leaf.subjectAltName,
    'URI:spiffe://media/sa/player, URI:athenz://instanceid/sys.auth.server/z-1, DNS:player.media.prov.example.com',
  );
  t.is(leaf.validToDate.getTime() - leaf.validFromDate.getTime(), (600 + 3600) * 1000);
  const refreshed = await world.as({ certificate, key: keyPem(pair) })(
    '/instance/sys.auth.server/media/player/z-1',
    json({ csr }),
  );
  t.is(refreshed.status, 200, refreshed.text);
});

const uri = ['uri', 'athenz://instanceid/sys.auth.server/z-7'] as const;
const needed = 'provider `sys.auth.server` needs `launch` on `sys.auth:dns.aws.athenz.cloud`';
const missing: [note: string, altNames: readonly (readonly ['uri' | 'dns', string])[], message: string][] = [
  [
    'the name of the service',
    [uri, ['dns', 'player.media.aws.athenz.cloud']],
    `csr dns name \`player.media.aws.athenz.cloud\` is not one that \`media.player\` may hold: ${needed}`,
  ],
  [
    'the name of the instance',
    [uri, ['dns', 'z-7.instanceid.athenz.aws.athenz.cloud']],
    `csr dns name \`z-7.instanceid.athenz.aws.athenz.cloud\` is not one that \`media.player\` may hold: ${needed}`,
  ],
  [
    'the name of the instance alone',
    [['dns', 'z-7.instanceid.athenz.aws.athenz.cloud']],
    `csr must carry the instance id, or \`x509CertInstanceId\` state it: ${needed}`,
  ],
  [
    'a name that no right gives',
    [uri, ['dns', '*.studio.media.signet.test']],
    'csr dns name `*.studio.media.signet.test` is not one that `media.player` may hold',
  ],
];
for (const [note, altNames, message] of missing) {
  test(`a registration below a suffix without a right says which one is missing: ${note}`, async (t) => {
    const csr = requestPem(ecPair(), { commonNames: ['media.player'], altNames });
    const body = { provider: 'sys.auth.server', domain: 'media', service: 'player', csr };
    const answer = await world.as()('/instance', json({ ...body, attestationData: await world.token('z-7') }));
    t.deepEqual([answer.status, answer.body], [400, { code: 400, message }]);
  });
}

test('a role certificate with the names that older clients ask for', async (t) => {
  const csr = requestPem(ecPair(), {
    commonNames: ['catalog:role.reader'],
    moreSubject: [unit],
    altNames: [
      ['uri', 'spiffe://catalog/ra/reader'],
      ['uri', 'athenz://principal/media.player'],
      ['email', 'media.player@signet.test'],
    ],
  });
  const player = await world.identity('media.player');
  const answer = await player('/rolecert', json({ csr, expiryTime: 60 }));
  t.is(answer.status, 200, answer.text);
  const leaf = new X509Certificate(String(field(answer.body, 'x509Certificate')));
  t.is(leaf.validToDate.getTime() - leaf.validFromDate.getTime(), 2 * 3_600_000);
});

test("the name of an id that carries no owner is copied, and is nobody's name for SSH", async (t) => {
  const name = 'z-9.instanceid.athenz.signet.test';
  const own = 'z-9.player.media.sys-auth-server.instanceid.signet.test';
  const pair = ecPair();
  const csr = requestPem(pair, {
    commonNames: ['media.player'],
    altNames: [
      ['uri', 'athenz://instanceid/sys.auth.server/z-9'],
      ['dns', name],
      ['dns', own],
    ],
  });
  const body = { provider: 'sys.auth.server', domain: 'media', service: 'player', csr };
  const answer = await world.as()('/instance', json({ ...body, attestationData: await world.token('z-9') }));
  t.is(answer.status, 201, answer.text);
  const certificate = String(field(answer.body, 'x509Certificate'));
  t.is(
    new X509Certificate(certificate).subjectAltName,
    `URI:athenz://instanceid/sys.auth.server/z-9, DNS:${own}, DNS:${name}`,
  );
  const publicKey = formatSshPublicKey(sshPublicKeyOf(generateKeyPairSync('ed25519').publicKey));
  const asked = (principal: string) =>
    world.as({ certificate, key: keyPem(pair) })(
      '/sshcert',
      json({
        certRequestMeta: { requestor: 'media.player', certType: 'host' },
        certRequestData: { principals: [principal], publicKey },
      }),
    );
  t.is((await asked(name)).status, 403);
  t.is((await asked(own)).status, 201);
});
