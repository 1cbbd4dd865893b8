/** Peer (a): a bare `node:https` handler that asks for a client certificate, reads the body and signs. */
import { createTokenSigner, tokenAnswer } from './signed-token.ts';
import { listen, tlsFilesFromArguments } from './tls-files.ts';

const roles = ['reader', 'editor'];

listen(tlsFilesFromArguments(), (baseUrl) => {
  const signer = createTokenSigner(`${baseUrl}/v1`);
  return (request, response) => {
    request.resume();
    request.once('end', () => {
      const body = JSON.stringify(tokenAnswer(signer.accessToken(roles), roles));
      response.writeHead(200, {
        'content-type': 'application/json',
        'cache-control': 'no-store',
        'content-length': Buffer.byteLength(body),
      });
      response.end(body);
    });
  };
});
