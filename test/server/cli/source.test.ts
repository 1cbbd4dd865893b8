import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { asksServer } from '@signet/server/cli/source';
import test from 'ava';
import { temporaryFolder } from '#support/temp';

const client = 'baseUrl: https://signet.example:4443/v1\ncertificate: a.pem\nkey: a.key\ncaBundle: ca.pem\n';
const server = 'profile: signet\nstore: { path: signet.db }\n';

for (const [given, asks] of [
  [{ as: 'media.player' }, true],
  [{ cert: 'a.pem' }, true],
  [{ url: 'https://signet.example:4443' }, true],
  [{ ca: 'ca.pem' }, false],
  [{ key: 'a.key' }, false],
  [{}, false],
] as const) {
  test(`the options ${JSON.stringify(given)}, with the configuration of a server or none: ${asks ? 'server' : 'store'}`, (t) => {
    t.is(asksServer({ data: '.signet', ...given }), asks);
    const configFile = join(temporaryFolder(t), 'signet.yaml');
    t.is(asksServer({ data: '.signet', configFile, ...given }), asks);
    writeFileSync(configFile, server);
    t.is(asksServer({ data: '.signet', configFile, ...given }), asks);
  });
}

test('a client configuration alone asks the server', (t) => {
  const configFile = join(temporaryFolder(t), 'client.yaml');
  writeFileSync(configFile, client);
  t.true(asksServer({ data: '.signet', configFile }));
});
