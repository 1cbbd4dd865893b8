import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import type { AppContext } from '@signet/server/http/context';
import { KoaApp } from '@signet/server/http/koa-app';
import test, { type ExecutionContext } from 'ava';
import Koa from 'koa';
import { runProgram } from '#support/run-program';

type Handler = (ctx: AppContext) => void;

/** Answers of Koa and of the server's own application with the same middleware. */
async function answers(t: ExecutionContext, handler: Handler, method = 'GET') {
  const both = [new Koa(), new KoaApp()].map(async (app) => {
    app.silent = true;
    app.use(handler);
    const server = createServer(app.callback()).listen(0, '127.0.0.1');
    t.teardown(() => server.close());
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const answer = await fetch(`http://127.0.0.1:${port}/`, { method });
    const headers = Object.fromEntries(answer.headers);
    delete headers['date'];
    return { status: answer.status, reason: answer.statusText, headers, text: await answer.text() };
  });
  return Promise.all(both);
}

const handlers: Readonly<Record<string, Handler>> = {
  'nothing at all': () => undefined,
  'a text': (ctx) => {
    ctx.body = 'text';
  },
  'a text with a status': (ctx) => {
    ctx.status = 202;
    ctx.body = 'accepted';
  },
  'a status with a message of its own': (ctx) => {
    ctx.status = 409;
    ctx.message = 'Taken';
  },
  'a status set on the response': (ctx) => {
    ctx.res.statusCode = 418;
    ctx.body = 'tea';
  },
  'a status alone': (ctx) => {
    ctx.status = 403;
  },
  'no content': (ctx) => {
    ctx.status = 204;
  },
  'no body': (ctx) => {
    ctx.body = null;
  },
  'an object': (ctx) => {
    ctx.body = { a: 1 };
  },
  'a stream': (ctx) => {
    ctx.body = Readable.from(['one', 'two'], { objectMode: false });
  },
  'an error': () => {
    throw new Error('unexpected');
  },
  'an error with a status': (ctx) => ctx.throw(410, 'gone for good'),
  'an answer that is written already': (ctx) => {
    ctx.respond = false;
    ctx.res.writeHead(201, ['x-own', 'yes']).end('written');
  },
};

for (const [name, handler] of Object.entries(handlers)) {
  for (const method of ['GET', 'HEAD']) {
    test(`${method}: ${name} is answered as by Koa`, async (t) => {
      const [koa, own] = await answers(t, handler, method);
      t.deepEqual(own, koa);
    });
  }
}

test('nothing waits for the end of an answer that is written already', async (t) => {
  const [koa, own] = await answers(t, (ctx) => {
    ctx.respond = false;
    ctx.res.end(String(ctx.res.listenerCount('finish')));
  });
  t.is(Number(own?.text), Number(koa?.text) - 1);
});

test('a stream is answered without the `fetch` of Node, whose code takes 60 ms to load', async (t) => {
  const script = `
    import { Readable } from 'node:stream';
    import { KoaApp } from '@signet/server/http/koa-app';
    // An import of it reads all of its members, of which one loads that code.
    const { createServer, get } = process.getBuiltinModule('node:http');
    const app = new KoaApp();
    app.use((ctx) => { ctx.body = Readable.from(['one', 'two'], { objectMode: false }); });
    const server = createServer(app.callback()).listen(0, '127.0.0.1', () =>
      get({ port: server.address().port, agent: false }, (answer) => answer.resume().on('end', () => {
        server.close();
        console.log(answer.statusCode, process.moduleLoadList.some((name) => /undici/.test(name)));
      })));`;
  const args = ['--conditions=@signet/source', '--input-type=module', '--eval', script];
  const { stdout, stderr } = await runProgram(process.execPath, args);
  t.is(stdout, '200 false\n', stderr);
});
