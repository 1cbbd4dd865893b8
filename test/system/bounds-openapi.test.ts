import test from 'ava';
import { assertWithin, costOf, costsAreKnown, slowness } from '#support/cost';
import { install, serve } from '#support/signet-program';

/* The document is some hundred kilobytes, and made of all schemas of the server: once, however often it is asked for. */

const onLinux = costsAreKnown ? test : test.skip;
const requests = 150;

onLinux('who asks for the OpenAPI document without end costs a server no more than its bytes', async (t) => {
  t.timeout(300_000);
  const domains = [{ name: 'media', services: { player: {} } }] as const;
  const world = await install(t, { domains, more: 'budgets: { enabled: false }' });
  const serving = await serve(t, world);
  const player = serving.as(await world.pki.identity('media.player'));
  const first = await player('^/openapi.json');
  t.is(first.status, 200);
  t.deepEqual(Object(first.body).servers, [{ url: new URL(serving.baseUrl).origin }]);
  const etag = String(first.headers['etag']);

  const costOfEach = async (path: string, headers: Record<string, string>, status: number) => {
    const before = costOf(serving.pid).processorMs;
    for (let request = 0; request < requests; request += 1) {
      const answer = await player(path, { headers });
      if (answer.status !== status || answer.headers['etag'] !== etag) t.fail(`${answer.status} ${answer.text}`);
    }
    return (costOf(serving.pid).processorMs - before) / requests / slowness();
  };
  // Once more than a warm server needs: what is new to it is compiled.
  await costOfEach('^/openapi.json', { 'if-none-match': etag }, 304);
  const known = await costOfEach('^/openapi.json', { 'if-none-match': etag }, 304);
  const whole = await costOfEach('/openapi.json', {}, 200);
  // To make it takes 30 ms and more, and to make JSON of it 1.5.
  assertWithin(t, 'processor time of an answer with the document', whole, 5, 'ms');
  assertWithin(t, 'processor time of an answer without it', known, 2, 'ms');
});
