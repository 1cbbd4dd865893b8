import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadConfig, type UpdaterConfig } from '@signet/updater/config/config';
import { connect } from '@signet/updater/updater';
import { UpdaterError } from '@signet/updater/updater-errors';
import test, { type ExecutionContext } from 'ava';
import { stringify } from 'yaml';
import { FakeClock } from '#support/clock';
import { createPki } from '#support/pki';
import { temporaryFolder } from '#support/temp';

/* Each file of the identity, with each thing that can be wrong with it: the option and the file are named, nothing of it is. */

const pki = await createPki();
const [own, other] = await Promise.all([pki.identity('films.updater'), pki.identity('films.other')]);
const secret = 'very-secret-text';

function configured(t: ExecutionContext): UpdaterConfig {
  const folder = temporaryFolder(t);
  const at = (name: string) => join(folder, name);
  writeFileSync(at('c.pem'), own.certificate);
  writeFileSync(at('k.pem'), own.key);
  writeFileSync(at('ca.pem'), pki.bundle);
  const files = { certificate: 'c.pem', key: 'k.pem', caBundle: 'ca.pem', policyDir: 'policy' };
  writeFileSync(at('updater.yaml'), stringify({ baseUrl: 'https://localhost/v1', domains: ['films'], ...files }));
  return loadConfig(at('updater.yaml'), {});
}

const garbage = {
  certificate: 'holds no certificate in PEM form',
  key: 'holds no private key in PEM form',
  caBundle: 'holds no certificate in PEM form',
} as const;

const faults: readonly (readonly [name: string, make: (file: string) => void, problem?: string])[] = [
  ['missing', () => undefined, 'does not exist'],
  ['a folder', (file) => mkdirSync(file), 'cannot be read (EISDIR)'],
  ['empty', (file) => writeFileSync(file, ''), 'is empty'],
  ['garbage', (file) => writeFileSync(file, secret)],
];

for (const option of ['certificate', 'key', 'caBundle'] as const) {
  for (const [name, make, problem = garbage[option]] of faults) {
    test(`${option}: ${name} is told with the option and the file`, (t) => {
      const config = configured(t);
      rmSync(config[option]);
      make(config[option]);
      const error = t.throws(() => connect(config, new FakeClock(0)), { instanceOf: UpdaterError });
      t.is(error?.code, 'configuration');
      t.is(error?.message, `${option}: \`${config[option]}\` ${problem}`);
    });
  }
}

test('key: that of another certificate is told', (t) => {
  const config = configured(t);
  writeFileSync(config.key, other.key);
  const message = `key: \`${config.key}\` is not the key of the certificate`;
  t.throws(() => connect(config, new FakeClock(0)), { instanceOf: UpdaterError, message });
});

test('an identity that is as it should be is used', async (t) => {
  await using client = connect(configured(t), new FakeClock(0));
  t.regex((await client.identity()).subject, /films\.updater/);
});
