import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createClient } from '@signet/client';
import test from 'ava';
import { runProgram } from '#support/run-program';
import { startServer, wholeFile } from '#support/start-server';
import { temporaryFolder } from '#support/temp';

/* Bundles of `GET …/policy/signed` in JWS libraries that know nothing of Signet; npm `jose` reads them in the tests of the server. */

const file = wholeFile();
const server = await startServer(file, {
  domains: [
    {
      name: 'catalog',
      roles: { reader: ['media.player'] },
      services: { updater: {} },
      policies: { base: [['ALLOW', 'reader', 'read', 'movie']] },
    },
  ],
});
const { certificate, key } = await server.pki.identity('catalog.updater');
const client = createClient({ baseUrl: server.baseUrl, certificate, key, caBundle: server.pki.bundle });
const answer = await client.bundles.fetch('catalog');
const bundle = Buffer.from(answer.kind === 'changed' ? answer.bytes : '').toString();
const { keys } = await client.keys();
await client.close();
test.after.always(() => file.end());

const { kid } = JSON.parse(Buffer.from(JSON.parse(bundle).protected, 'base64url').toString());
const jwk = keys.find((each) => each.kid === kid);

const inJwcrypto = `
import json, sys
from jwcrypto import jwk, jws
given = json.load(sys.stdin)
token = jws.JWS()
token.allowed_algs = ['ES256']
token.deserialize(given['bundle'], jwk.JWK(**given['jwk']))
print(json.loads(token.payload)['policyData']['domain'])`;

const inAuthlib = `
import json, sys
from authlib.jose import JsonWebKey, JsonWebSignature
given = json.load(sys.stdin)
key = JsonWebKey.import_key(given['jwk'])
read = JsonWebSignature(['ES256']).deserialize_json(json.loads(given['bundle']), key)
print(json.loads(read['payload'])['policyData']['domain'])`;

const inGo = `package main

import (
	"encoding/json"
	"fmt"
	"os"

	jose "gopkg.in/square/go-jose.v2"
)

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	var given struct {
		Bundle string
		Jwk    jose.JSONWebKey
	}
	check(json.NewDecoder(os.Stdin).Decode(&given))
	signed, err := jose.ParseSigned(given.Bundle)
	check(err)
	payload, err := signed.Verify(&given.Jwk)
	check(err)
	var data struct{ PolicyData struct{ Domain string } }
	check(json.Unmarshal(payload, &data))
	fmt.Println(data.PolicyData.Domain)
}
`;

const python = '/usr/bin/python3';
const goEnvironment = { ...process.env, GO111MODULE: 'off', GOPATH: '/usr/share/gocode' };
const readers: [name: string, program: string, args: (folder: string) => string[], needs: string[]][] = [
  ['jwcrypto', python, () => ['-c', inJwcrypto], ['-c', 'import jwcrypto']],
  ['Authlib', python, () => ['-c', inAuthlib], ['-c', 'import authlib.jose']],
  ['go-jose', 'go', (folder) => ['run', join(folder, 'main.go')], ['list', 'gopkg.in/square/go-jose.v2']],
];
for (const [name, program, args, needs] of readers) {
  test(`${name} verifies a bundle, and refuses one that was changed`, async (t) => {
    t.timeout(300_000);
    const there = await runProgram(program, needs, { env: goEnvironment }).catch(() => undefined);
    if (there?.status !== 0) {
      t.log(`${name} is not installed here: not tried`);
      t.pass();
      return;
    }
    const folder = join(temporaryFolder(t), 'check');
    mkdirSync(folder);
    writeFileSync(join(folder, 'main.go'), inGo);
    const read = (text: string) =>
      runProgram(program, args(folder), { env: goEnvironment, input: JSON.stringify({ bundle: text, jwk }) });
    const good = await read(bundle);
    t.deepEqual([good.stdout.trim(), good.status], ['catalog', 0], good.stderr);
    const { payload, ...rest } = JSON.parse(bundle);
    const other = Buffer.from(`${Buffer.from(payload, 'base64url')} `).toString('base64url');
    const bad = await read(JSON.stringify({ ...rest, payload: other }));
    t.deepEqual([bad.stdout, bad.status], ['', 1]);
  });
}
