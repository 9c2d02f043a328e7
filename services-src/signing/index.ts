export { canonicalJson, digestOf } from './canonical-json.ts';
export { isExpired, isRecent } from './expiry.ts';
export { createMacs } from './macs.ts';
export type { Macs } from './macs.ts';
export { createPrincipalReader } from './principals.ts';
export {
  createPublicSigner,
  createPublicVerifier,
  publicKeyOf,
  statementDigest,
} from './public-statements.ts';
export type { PublicSigner } from './public-statements.ts';
export { createSigner, createVerifier } from './statements.ts';
export type { Signer, Verifier } from './statements.ts';
