import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { RequestState } from '@signet/server/http/context';
import { answerPlainJson, answerUnchanged, writePlainAnswer } from '@signet/server/http/plain-answer';
import test, { type ExecutionContext } from 'ava';
import Koa from 'koa';
import { caller, startServer, wholeFile } from '#support/start-server';

const file = wholeFile();
const server = await startServer(file, {
  domains: [{ name: 'media', services: { player: {} }, roles: { reader: ['media.player'] } }],
});
const player = caller(file, server, await server.pki.identity('media.player'));
test.after.always(() => file.end());

const form = { 'content-type': 'application/x-www-form-urlencoded' };
const body = 'grant_type=client_credentials&scope=media:role.reader';
const always = ['connection', 'date', 'keep-alive', 'strict-transport-security'];

test('the fields of each plain answer, and no other', async (t) => {
  const token = await player('/oauth2/token', { method: 'POST', headers: form, body });
  t.deepEqual(
    Object.keys(token.headers).sort(),
    [...always, 'cache-control', 'content-length', 'content-type', 'pragma'].sort(),
  );
  const check = await player('/access/read?resource=media:film');
  t.deepEqual(check.body, { granted: false });
  t.deepEqual(Object.keys(check.headers).sort(), [...always, 'cache-control', 'content-length', 'content-type'].sort());
  const { etag } = (await player('/domain/media/policy/signed')).headers;
  const unchanged = await player('/domain/media/policy/signed', { headers: { 'if-none-match': String(etag) } });
  t.is(unchanged.status, 304);
  t.deepEqual(Object.keys(unchanged.headers).sort(), [...always, 'cache-control', 'etag'].sort());
  t.is(unchanged.headers['etag'], etag);
});

test('an error after a plain answer that was meant is the answer', async (t) => {
  const headers = { 'if-match': '"x"' };
  const refused = await player('/access/read?resource=media:film', { headers });
  t.is(refused.status, 412);
  t.like(refused.body, { code: 412 });
  t.is(refused.headers['content-length'], String(JSON.stringify(refused.body).length));
});

test('HEAD has the fields of GET and no body', async (t) => {
  const [get, head] = [
    await player('/access/read?resource=media:film'),
    await player('/access/read?resource=media:film', { method: 'HEAD' }),
  ];
  t.is(head.headers['content-length'], get.headers['content-length']);
  t.falsy(head.body);
});

/** Answer of a server over plain HTTP. */
async function answerOf(
  t: ExecutionContext,
  use: Koa.Middleware<RequestState>,
): Promise<readonly [number | undefined, string[], string]> {
  const app = new Koa<RequestState>();
  app.use(async (ctx, next) => {
    await next();
    if (ctx.state.answer !== undefined) writePlainAnswer(ctx, ctx.state.answer);
  });
  app.use(use);
  const plain = createServer(app.callback()).listen(0, '127.0.0.1');
  t.teardown(() => plain.close());
  await once(plain, 'listening');
  const sent = request({ port: (plain.address() as AddressInfo).port, host: '127.0.0.1', agent: false }).end();
  const [response] = await once(sent, 'response');
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk);
  return [response.statusCode, response.rawHeaders, Buffer.concat(chunks).toString()];
}

test('fields that were set before are sent as well; nothing of strict transport over plain HTTP', async (t) => {
  const [status, fields, text] = await answerOf(t, (ctx) => {
    ctx.set('Connection', 'close');
    answerPlainJson(ctx, '{}', 'pragma', 'no-cache');
  });
  t.is(status, 200);
  t.is(text, '{}');
  const named = (name: string) => fields.filter((field, at) => at % 2 === 0 && field.toLowerCase() === name).length;
  for (const name of ['connection', 'content-type', 'content-length', 'cache-control', 'pragma'])
    t.is(named(name), 1, name);
  t.is(fields[fields.indexOf('Connection') + 1], 'close');
  t.is(named('strict-transport-security'), 0);
});

test('an unchanged answer has its tag and no body', async (t) => {
  const [status, fields, text] = await answerOf(t, (ctx) => answerUnchanged(ctx, '"a"', 'max-age=5'));
  t.is(status, 304);
  t.is(text, '');
  t.is(fields[fields.indexOf('etag') + 1], '"a"');
  t.is(fields[fields.indexOf('cache-control') + 1], 'max-age=5');
  t.false(fields.some((field) => /content-/i.test(field)));
});
