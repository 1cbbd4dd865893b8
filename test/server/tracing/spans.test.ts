import { context, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import test from 'ava';
import { confirm, registration, worldWith } from '#support/called-provider';
import { instanceWorld, json, refresh, register } from '#support/instance-world';
import { ecPair } from '#support/requests';
import { form, wholeFile } from '#support/start-server';
import { until } from '#support/until';

/* A small SDK in memory, registered before the server starts, as `--import` does it. */

const exporter = new InMemorySpanExporter();
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }));

const file = wholeFile();
const world = await instanceWorld(file);
const asStudio = await world.identity('media.studio');
test.after.always(async () => {
  await file.end();
  // Other files run in this process.
  trace.disable();
  context.disable();
});

const caller = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7' };
const traceparent = `00-${caller.traceId}-${caller.spanId}-01`;
const ask = form({ grant_type: 'client_credentials', scope: 'catalog:domain' });

/** The spans of a trace, once that of the request has ended. */
async function spansOf(isWanted: (request: ReadableSpan) => boolean): Promise<readonly ReadableSpan[]> {
  const request = await until('the span of the request has ended', () =>
    exporter.getFinishedSpans().find((span) => span.name === 'signet.request' && isWanted(span)),
  );
  const { traceId } = request.spanContext();
  return exporter.getFinishedSpans().filter((span) => span.spanContext().traceId === traceId);
}

/** Does something and answers the spans of its last request. */
async function traced(work: () => Promise<unknown>): Promise<readonly ReadableSpan[]> {
  exporter.reset();
  await work();
  const all = await until('there is a request', () =>
    exporter.getFinishedSpans().filter(({ name }) => name === 'signet.request'),
  );
  const last = all.at(-1);
  return spansOf((span) => span === last);
}

test.serial('a request goes on with the trace of its caller, and signs below itself', async (t) => {
  const { headers } = ask;
  const spans = await traced(() => asStudio('/oauth2/token', { ...ask, headers: { ...headers, traceparent } }));
  const [request] = spans.filter(({ name }) => name === 'signet.request');
  const [sign] = spans.filter(({ name }) => name === 'signet.sign');
  t.is(request?.spanContext().traceId, caller.traceId);
  t.is(request?.parentSpanContext?.spanId, caller.spanId);
  t.deepEqual(request?.attributes, {
    'http.request.method': 'POST',
    'http.route': '/v1/oauth2/token',
    'http.response.status_code': 200,
  });
  t.is(sign?.parentSpanContext?.spanId, request?.spanContext().spanId);
  const line = world.log.findLast((entry) => entry['route'] === '/v1/oauth2/token');
  t.is(line?.['trace_id'], caller.traceId);
});

test.serial('a header that is not well-formed begins a trace of its own', async (t) => {
  const bad = [
    `${traceparent}x`,
    traceparent.toUpperCase(),
    `00-${'0'.repeat(32)}-${caller.spanId}-01`,
    'ff-1-2-3',
    '',
  ];
  for (const header of bad) {
    const headers = { ...ask.headers, traceparent: header };
    const spans = await traced(() => asStudio('/oauth2/token', { ...ask, headers }));
    const request = spans.find(({ name }) => name === 'signet.request');
    t.is(request?.parentSpanContext, undefined, header);
    t.not(request?.spanContext().traceId, caller.traceId, header);
  }
});

test.serial('registering: attestation and store', async (t) => {
  const spans = await traced(() => register(world, 'traced-1'));
  const names = new Set(spans.map(({ name }) => name));
  t.deepEqual([...names].toSorted(), ['signet.attest', 'signet.request', 'signet.store']);
  t.deepEqual(spans.find(({ name }) => name === 'signet.attest')?.attributes, {
    'signet.attestation.method': 'join-token',
  });
});

test.serial('refusals and failures have a status, and no text', async (t) => {
  const spans = await traced(() => register(world, 'traced-2', { attestationData: 'secret-join-token' }));
  const attest = spans.find(({ name }) => name === 'signet.attest');
  t.deepEqual(attest?.attributes, { 'signet.attestation.method': 'join-token', 'error.type': 'ForbiddenError' });
  t.is(spans.find(({ name }) => name === 'signet.request')?.attributes['http.response.status_code'], 403);
});

test.serial('no span holds what a caller sent, or what it was given', async (t) => {
  exporter.reset();
  const instance = await register(world, 'traced-3');
  await refresh(world, instance);
  const { body } = await asStudio('/oauth2/token', ask);
  await asStudio('/secret-path?secret-query=1', json({ secret: 'secret-body' }));
  await until('the last request is traced', () =>
    exporter.getFinishedSpans().some(({ attributes }) => attributes['http.response.status_code'] === 404),
  );
  const text = JSON.stringify(
    exporter
      .getFinishedSpans()
      .map(({ name, attributes, events, status, links }) => [name, attributes, events, status, links]),
  );
  t.notRegex(text, /secret|traced-3|media\.|catalog|CERTIFICATE|eyJ/);
  t.false(text.includes(String(Object(body).access_token).slice(0, 20)));
});

test.serial('looks at the store that no request asked for are not traced', async (t) => {
  exporter.reset();
  await world.running.refresh();
  t.deepEqual(exporter.getFinishedSpans(), []);
});

test.serial('a provider that is called gets the trace of the request', async (t) => {
  const sent: unknown[] = [];
  const called = await worldWith(t, (call, response, request) => {
    sent.push(request.headers['traceparent']);
    confirm()(call, response, request);
  });
  const spans = await traced(async () => {
    const { headers, ...rest } = json(registration('c-1', ecPair()));
    t.is((await called.as()('/instance', { ...rest, headers: { ...headers, traceparent } })).status, 201);
  });
  const attest = spans.find(({ name }) => name === 'signet.attest');
  t.is(attest?.spanContext().traceId, caller.traceId);
  t.deepEqual(sent, [`00-${caller.traceId}-${attest?.spanContext().spanId}-01`]);
});
