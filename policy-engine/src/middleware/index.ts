export {
  type Asked,
  authorize,
  type Decider,
  type Outcome,
  type ProtectedRequest,
  type ProtectOptions,
  type RuleInput,
} from './authorize.ts';
export { canonicalPath } from './canonical-path.ts';
export { type NodeRequest, nodeRequests } from './node-request.ts';
export type { Peer, TrustedProxies } from './proxy-certificate.ts';
