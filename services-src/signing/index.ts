export { canonicalJson, digestOf } from './canonical-json.ts';
export { createPrincipalReader } from './principals.ts';
export { createSigner, createVerifier } from './statements.ts';
export type { Purpose, Signer, Verifier } from './statements.ts';
