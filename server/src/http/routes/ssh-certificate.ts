import { TLSSocket } from 'node:tls';
import type { RouterMiddleware } from '@koa/router';
import { altNamesOf, readCertificate } from '../../certificates/certificate-reader.ts';
import type { CertificateStore } from '../../certificates/certificate-store.ts';
import {
  type IssueSshDeps,
  issueHostCertificate,
  issueUserCertificate,
  type SshHost,
} from '../../certificates/ssh/issue-ssh.ts';
import { parseSshRevocation, revokeSsh } from '../../certificates/ssh/revoke-ssh.ts';
import { revokedKrl } from '../../certificates/ssh/revoked-krl.ts';
import { parseSshCertRequest } from '../../certificates/ssh/ssh-csr.ts';
import { ForbiddenError } from '../../errors.ts';
import { type Principal, readClientCertificate } from '../../principal.ts';
import type { Store } from '../../store/store.ts';
import { bodyJson } from '../body.ts';
import { answerJson, type RequestState, type RouteContext, requireIdentity, requirePrincipal } from '../context.ts';

export interface SshRouteDeps {
  readonly issue: IssueSshDeps;
  readonly certificates: Pick<CertificateStore, 'find' | 'revocationsAfter'>;
  readonly store: Pick<Store, 'change'>;
}

/** `POST /sshcert`: an SSH certificate for the caller, 201 (decision 26). A host asks with the certificate that names it. */
export function sshCertificateRoute({ issue, certificates }: SshRouteDeps): RouterMiddleware<RequestState> {
  return async (ctx) => {
    const caller = requireIdentity(ctx);
    const request = parseSshCertRequest(bodyJson(ctx));
    const issued =
      request.kind === 'user'
        ? await issueUserCertificate(issue, caller.name, request)
        : await issueHostCertificate(issue, await callingHost(ctx, caller, certificates), request);
    ctx.status = 201;
    ctx.set('Cache-Control', 'no-store');
    answerJson(
      ctx,
      JSON.stringify({ certificates: [{ certificate: issued.certificate }], certificateSigner: issued.signer }),
    );
  };
}

/** `POST /sshcert/revoke`: by serial number or key id; its owner may, and an operator. Answers how many were in force. */
export function sshRevokeRoute({ issue, store }: SshRouteDeps): RouterMiddleware<RequestState> {
  return async (ctx) => {
    const { name: actor } = requireIdentity(ctx);
    const revocation = parseSshRevocation(bodyJson(ctx));
    const { requestId, certificate } = ctx.state;
    const serial = certificate && { certificateSerial: certificate.serial };
    const context = { actor, requestId, reason: revocation.reason, ...serial };
    const revoked = await revokeSsh({ ...issue, store }, actor, revocation, context);
    answerJson(ctx, JSON.stringify({ revoked }));
  };
}

/** `GET /sshcert/krl`: what is revoked, in the form that `RevokedKeys` of sshd reads. */
export function sshRevocationsRoute({ issue, certificates }: SshRouteDeps): RouterMiddleware<RequestState> {
  return async (ctx) => {
    requirePrincipal(ctx);
    const authorities = [issue.authorities.host, issue.authorities.user].filter((one) => one !== undefined);
    const krl = await revokedKrl({ certificates, authorities, clock: issue.clock });
    ctx.set('Content-Type', 'application/octet-stream');
    ctx.body = krl;
  };
}

/** The host names of the connection's certificate and, where the store knows it, the instance and the end of its life. */
async function callingHost(
  ctx: RouteContext,
  caller: Extract<Principal, { kind: 'identity' }>,
  certificates: SshRouteDeps['certificates'],
): Promise<SshHost> {
  const { socket } = ctx.req;
  const presented = socket instanceof TLSSocket && socket.authorized ? socket.getPeerX509Certificate() : undefined;
  const identity = presented === undefined ? undefined : readClientCertificate(presented);
  // A principal token may name somebody other than the connection's certificate, whose host names are then not the caller's.
  if (presented === undefined || typeof identity !== 'object' || identity.principal.name !== caller.name) {
    throw new ForbiddenError('a host asks with its own client certificate');
  }
  const certificate = readCertificate(presented.raw);
  const row = await certificates.find(certificate.serial);
  return {
    service: caller.name,
    provider: row?.provider,
    instanceId: row?.instanceId,
    names: altNamesOf(certificate).flatMap(({ kind, value }) => (kind === 'dns' ? [value] : [])),
  };
}
