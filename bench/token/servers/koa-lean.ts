/** Peer (b'): Koa alone, without router, form parser and look-up; it reads the body and signs. */
import { text } from 'node:stream/consumers';
import Koa from 'koa';
import { createTokenSigner, tokenAnswer } from './signed-token.ts';
import { listen, tlsFilesFromArguments } from './tls-files.ts';

const roles = ['reader', 'editor'];

listen(tlsFilesFromArguments(), (baseUrl) => {
  const signer = createTokenSigner(`${baseUrl}/v1`);
  const app = new Koa();
  app.use(async (context) => {
    await text(context.req);
    context.set('cache-control', 'no-store');
    context.body = tokenAnswer(signer.accessToken(roles), roles);
  });
  const callback = app.callback();
  return (request, response) => void callback(request, response);
});
