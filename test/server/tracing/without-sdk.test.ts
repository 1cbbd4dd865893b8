import { openTracing } from '@signet/server/tracing/open-tracing';
import { formatTraceParent, parseTraceParent } from '@signet/server/tracing/traceparent';
import test from 'ava';
import { caller, form, startServer } from '#support/start-server';

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const traceparent = `00-${traceId}-00f067aa0ba902b7-01`;

test('without an SDK nothing is traced, and the log still has the trace of the caller', async (t) => {
  t.is(await openTracing(), undefined);
  const server = await startServer(t, { domains: [{ name: 'media', services: { player: {} } }] });
  const call = caller(t, server, await server.pki.identity('media.player'));
  const ask = form({ grant_type: 'client_credentials', scope: 'media:domain' });
  await call('/oauth2/token', { ...ask, headers: { ...ask.headers, traceparent } });
  await call('/oauth2/keys', { headers: { traceparent: 'not one' } });
  const line = (route: string) => server.log.findLast((entry) => entry['route'] === route);
  t.is(line('/v1/oauth2/token')?.['trace_id'], traceId);
  t.false('trace_id' in (line('/v1/oauth2/keys') ?? {}));
});

test('a header that is handed on is the one that came', (t) => {
  const parsed = parseTraceParent(traceparent);
  t.deepEqual(parsed, { traceId, spanId: '00f067aa0ba902b7', flags: 1 });
  t.is(parsed && formatTraceParent(parsed), traceparent);
  t.is(parseTraceParent([traceparent]), undefined);
});
