import { createPrivateKey } from 'node:crypto';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '@signet/policy-engine/clock';
import { parseDomainName } from '@signet/policy-engine/names';
import { checkAddresses, checkRootKey } from '@signet/server/cli/doctor/setup-checks';
import { initialise } from '@signet/server/cli/initialise';
import { loadConfig } from '@signet/server/config/config';
import { encryptPrivateKey } from '@signet/server/x509/encrypted-key';
import test from 'ava';
import { temporaryFolder } from '#support/temp';

test('an address that only this machine has is found where the server listens for others', async (t) => {
  const folder = join(temporaryFolder(t), 'server');
  const trustDomain = parseDomainName('signet.test');
  const made = { folder, host: '127.0.0.1', port: 4443, hosts: [], identities: [], actor: 'local:test', trustDomain };
  await initialise(made, systemClock);
  const config = (flags: Record<string, unknown> = {}) => loadConfig(join(folder, 'signet.yaml'), {}, flags);
  const found = (flags: Record<string, unknown>) => {
    const { state, found: text, advice } = checkAddresses(config(flags));
    return `${state}: ${text}${advice === undefined ? '' : ', advised'}`;
  };
  const listens = 'but the server accepts connections from other machines (`listen.host` 0.0.0.0), advised';
  const others = { 'listen.host': '0.0.0.0' };
  t.is(found({}), 'ok: clients on this machine call https://localhost:4443/v1');
  const alone = 'but the server accepts connections from this machine only (`listen.host` 127.0.0.1), advised';
  const remote = 'https://signet.example.com/v1';
  t.is(found({ baseUrl: remote }), `warning: \`baseUrl\` is ${remote}, ${alone}`);
  t.is(found(others), `warning: \`baseUrl\` is https://localhost:4443/v1, ${listens}`);
  const named = { ...others, baseUrl: 'https://signet.example.com/v1' };
  t.is(found(named), 'ok: clients call https://signet.example.com/v1');
  t.is(found({ ...named, issuer: 'https://127.0.0.2/v1' }), `warning: \`issuer\` is https://127.0.0.2/v1, ${listens}`);
  t.is(found({ ...others, baseUrl: 'https://0.0.0.0/v1' }), `warning: \`baseUrl\` is https://0.0.0.0/v1, ${listens}`);

  const rootKey = join(folder, 'ca/root.key.pem');
  const here = (file: string) => ({
    check: 'root key',
    state: 'warning',
    found: `the unencrypted root key is on this machine: \`${file}\``,
    advice: 'move it to offline storage: no server needs it',
  });
  t.deepEqual(checkRootKey(config()), here(rootKey) as never);
  const key = readFileSync(rootKey, 'utf8');
  const gone = { check: 'root key', state: 'ok', found: 'no unencrypted root key is on this machine' } as const;
  writeFileSync(rootKey, encryptPrivateKey(createPrivateKey(key), 'correct horse battery'));
  t.deepEqual(checkRootKey(config()), gone, 'encrypted');
  rmSync(rootKey);
  t.deepEqual(checkRootKey(config()), gone, 'the keys of server and intermediate are there still');
  const copy = join(folder, 'saved.key');
  writeFileSync(copy, key);
  t.deepEqual(checkRootKey(config()), here(copy) as never, 'under another name, beside the configuration');
});
