export { toCanonicalJson as canonicalJson, digestOf } from './canonical-json.ts';
export { isEarly, isExpired, isRecent } from './expiry.ts';
export { createMacs } from './macs.ts';
export type { Macs } from './macs.ts';
export { requireKnownLimits } from './payload.ts';
export { createPrincipalReader } from './principals.ts';
export {
  createPublicSigner,
  createPublicVerifier,
  publicKeyOf,
  statementDigestOf as statementDigest,
} from './public-statements.ts';
export type { PublicSigner } from './public-statements.ts';
export { createSigner, createVerifier } from './statements.ts';
export type { Signer, Verifier } from './statements.ts';
