import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { noPostgres, postgresPrograms, startPostgres } from '#support/postgres';
import { runProgram } from '#support/run-program';
import { install, serve } from '#support/signet-program';

/* Two servers on one PostgreSQL: `curl` and `jq` plan, apply, request and approve, with operations of the OpenAPI document alone. */

const isReady = postgresPrograms !== undefined;
if (!isReady) test.skip(noPostgres, (t) => t.pass());

const document = (member: string) => `domain: films
approvals: 1
roles:
  admin: { members: [user.ann, user.bob] }
  reader: { members: [${member}] }
policies: { films: [{ action: read, resource: film, role: reader }] }
`;

/** Paths come from the document by the ids of operations; \`$A\` and \`$B\` are the two servers, \`ann\` and \`bob\` the callers. */
const script = `set -eu
op() { jq -r --arg id "$1" '.paths | to_entries[] | select(any(.value[]?; type == "object" and .operationId? == $id)) | .key' openapi.json; }
as() { curl --silent --show-error --cacert ca.pem --cert "$1.cert.pem" --key "$1.key.pem" --write-out '\\n%{http_code}\\n' "$2" -H 'content-type: application/json' \${3+--request "$3"} \${4+--data "$4"}; }
status() { tail -n 1; }
body() { sed '$d'; }
plan=$(op PlanDocuments) apply=$(op ApplyDocuments) requests=$(op ListRequests)
one() { op "$1" | sed "s/{id}/$2/"; }
echo "protected $(as ann "$A$(op PutDomain | sed 's/{domainName}/films/')" PUT '{"approvals":1}' | status)"
digest=$(as ann "$A$plan" POST "$(cat two.json)" | body | jq -r .digest)
echo "direct $(as ann "$B$apply?plan=$digest" POST "$(cat two.json)" | status)"
echo "other $(as ann "$B$apply?plan=$digest&request=true" POST "$(cat one.json)" | status)"
answer=$(as ann "$B$apply?plan=$digest&request=true&reason=curl" POST "$(cat two.json)")
echo "stored $(echo "$answer" | status)"
id=$(echo "$answer" | body | jq .id)
echo "waiting $(as bob "$A$requests?awaiting=me" | body | jq -c '[.items[].id]')"
seen=$(as bob "$A$(one GetRequest "$id")" | body | jq -r .plan.digest)
echo "own $(as ann "$A$(one ApproveRequest "$id")" POST "{\\"plan\\":\\"$seen\\"}" | status)"
as bob "$A$(one ApproveRequest "$id")" POST "{\\"plan\\":\\"$seen\\"}" > first & as bob "$B$(one ApproveRequest "$id")" POST "{\\"plan\\":\\"$seen\\"}" > second & wait
echo "approved $(tail -q -n 1 first second | grep -c '^200$' || true)"
echo "again $(as ann "$A$apply?plan=$digest&request=true" POST "$(cat two.json)" | status)"
echo "member $(as bob "$B/management/v1/domains/films/roles/reader/members" | body | jq -c '[.items[].name]')"
role=$(as ann "$A$(op PutRole | sed 's/{domainName}/films/;s/{name}/lent/')?request=true" PUT '{"approvals":1,"requestSeconds":3600}' | body | jq .id)
seen=$(as bob "$B$(one GetRequest "$role")" | body | jq -r .plan.digest)
echo "role $(as bob "$B$(one ApproveRequest "$role")" POST "{\\"plan\\":\\"$seen\\"}" | status)"
asked=$(as eve "$A$requests" POST '{"role":"films:role.lent","seconds":3600,"reason":"ticket"}')
echo "asked $(echo "$asked" | status)"
echo "withdrawn $(as eve "$B$(one WithdrawRequest "$(echo "$asked" | body | jq .id)")" DELETE | status)"
`;

(isReady ? test : test.skip)('plan, apply, 412, request and approval by curl and jq against two servers', async (t) => {
  t.timeout(300_000);
  const tools = await runProgram('/bin/sh', ['-c', 'command -v curl && command -v jq']);
  if (tools.status !== 0) {
    t.log('skipped: curl or jq is not installed');
    return t.pass();
  }
  const database = await startPostgres(t);
  const name = await database.createDatabase('icu-en-US');
  const installation = await install(t, {
    domains: [{ name: 'films', roles: { admin: ['user.ann', 'user.bob'], reader: ['user.eve'] } }],
    store: database.settings(name, { listen: true }),
    more: 'management: { requests: { issuedByOperators: true } }\n',
  });
  const { folder, pki } = installation;
  const servers = await Promise.all(
    ['a', 'b'].map((machine) => {
      const dataDir = join(folder, machine);
      mkdirSync(dataDir, { mode: 0o700 });
      return serve(t, installation, { limits: `export SIGNET_DATA_DIR=${dataDir}` });
    }),
  );
  const work = join(folder, 'work');
  mkdirSync(work);
  for (const who of ['ann', 'bob', 'eve']) {
    const { certificate, key } = await pki.identity(`user.${who}`);
    writeFileSync(join(work, `${who}.cert.pem`), certificate);
    writeFileSync(join(work, `${who}.key.pem`), key);
  }
  writeFileSync(join(work, 'ca.pem'), pki.bundle);
  const openapi = await installation.signet('openapi');
  writeFileSync(join(work, 'openapi.json'), openapi.stdout);
  const files = (member: string) => JSON.stringify({ files: [{ name: 'films.yaml', text: document(member) }] });
  writeFileSync(join(work, 'one.json'), files('user.fay'));
  writeFileSync(join(work, 'two.json'), files('user.gus'));
  const [a = '', b = ''] = servers.map(({ baseUrl }) => new URL(baseUrl).origin);
  const ran = await runProgram('/bin/sh', ['-c', script], { cwd: work, env: { ...process.env, A: a, B: b } });
  t.is(ran.status, 0, ran.stderr);
  t.deepEqual(ran.stdout.trim().split('\n'), [
    'protected 200',
    'direct 409',
    'other 412',
    'stored 202',
    'waiting [1]',
    'own 403',
    'approved 1',
    'again 412',
    'member ["user.gus"]',
    'role 200',
    'asked 201',
    'withdrawn 204',
  ]);
});
