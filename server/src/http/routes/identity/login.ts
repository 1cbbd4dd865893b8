import type { RouterMiddleware } from '@koa/router';
import { z } from 'zod';
import { parseBody } from '../../../instances/instance-request.ts';
import { logIn } from '../../../people/log-in.ts';
import { saltGrammar } from '../../../people/login-nonce.ts';
import { bodyJson } from '../../body.ts';
import { answerCached } from '../../cached-answer.ts';
import { answerJson, type RequestState } from '../../context.ts';
import type { IdentityRouteDeps } from './identity-deps.ts';

/** Body of the request: an ID token and a request for a certificate, of strangers. */
export const loginBytes = 65_536;

export const requestSchema = z.strictObject({
  issuer: z.string().min(1).max(2048),
  idToken: z.string().min(1).max(16_384),
  csr: z.string().min(1).max(32_768),
  salt: z.string().regex(saltGrammar),
});

/** Maximum cache lifetime of the issuers' metadata. */
const metadataSeconds = 60;

/** Path of logins by people, who have no certificate yet. */
export function loginPath(basePath: string): string {
  return `${basePath}/login`;
}

/** `GET /login` */
export function loginMetadataRoute({ loginMetadata }: IdentityRouteDeps): RouterMiddleware<RequestState> {
  const json = JSON.stringify(loginMetadata);
  return (ctx) => answerCached(ctx, json, metadataSeconds);
}

/** `POST /login`: the ID token is the credential; a certificate is not looked at beyond being valid. */
export function loginRoute(deps: IdentityRouteDeps): RouterMiddleware<RequestState> {
  return async (ctx) => {
    const asked = parseBody(requestSchema, bodyJson(ctx));
    answerJson(ctx, JSON.stringify(await logIn(deps.login, asked, ctx.state.requestId)));
  };
}
