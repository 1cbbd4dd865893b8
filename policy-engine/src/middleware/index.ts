export {
  type AnswerHeaders,
  authorize,
  type Outcome,
} from './authorize.ts';
export { canonicalPath } from './canonical-path.ts';
export type { ConnectionOptions } from './connection-certificate.ts';
export { type CloseOptions, type GracefulServer, gracefulServer } from './graceful-server.ts';
export { throwInKoa } from './koa-error.ts';
export { type NodeRequest, nodeRequests } from './node-request.ts';
export type { Decider, ProtectedRequest, ProtectOptions } from './protect-options.ts';
export { certificateProblem, type Peer, type TrustedProxies } from './proxy-certificate.ts';
export type { OnRefusal, Refusal } from './refusal.ts';
export {
  RequestRule,
  type RequiredAccess,
  type Rule,
  type RuleInput,
  type RuleOptions,
  type RuleOutcome,
  type SeenRequest,
} from './request-rule.ts';
export {
  type ExpressRouting,
  expressRouting,
  type FastifyRouting,
  fastifyRouting,
  type KoaRouting,
  koaRouting,
} from './routing.ts';
export { secureClientOptions, secureServerOptions } from './tls-options.ts';
export { protectUpgrade, refuseUpgrade, type UpgradeSocket } from './upgrade.ts';
