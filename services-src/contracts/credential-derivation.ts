import { z } from 'zod';

/**
 * A credential of several parts is one secret whose value is a JSON object
 * (docs/reference/credentials.md#secrets-of-several-parts).
 */
export const credentialPartName = z.string().regex(/^[a-z][a-z0-9_]{0,62}$/);

export const credentialPart = z.strictObject({
  name: credentialPartName,
  /** What people call the part. */
  label: z.string().min(1).max(100),
  /** False for a part that may be read, such as a client id. */
  secret: z.boolean(),
  optional: z.boolean(),
});
export type CredentialPart = z.infer<typeof credentialPart>;

/** A text in which `{part}` stands for the value of a part, and `{origin}` for the service's origin. */
const placeholderText = z.string().max(2000);
const scope = z.string().max(300);
/** The name of a service or a region in a signature. */
export const awsName = z.string().regex(/^[a-z0-9-]{1,63}$/);

const partsDerivationFields = {
  /** The parts that must be in the secret. */
  required: z.array(credentialPartName).max(20),
  /** The parts that are kept out of answers. */
  secret: z.array(credentialPartName).max(20),
};

const tokenDerivationFields = {
  ...partsDerivationFields,
  /**
   * The URL that issues the token. In a template it is absolute, or relative to the address of the
   * service; in an injection it is always absolute. Its path may contain `{part}`.
   */
  tokenUrl: z.string().min(1).max(2000),
  /** Fields of the token request besides those that its grant names. */
  parameters: z.record(z.string().max(100), placeholderText),
  body: z.enum(['form', 'json']),
  scopes: z.array(scope).max(500),
};

/**
 * How the executor derives what it sends from a secret of several parts. It is in the template,
 * and policy puts it into the injection that it signs.
 */
export const credentialDerivation = z.discriminatedUnion('kind', [
  /** RFC 6749 §4.4, with the parts `client_id` and `client_secret`, or `private_key`. */
  z.strictObject({
    kind: z.literal('client_credentials'),
    ...tokenDerivationFields,
    authentication: z.enum(['client_secret_basic', 'client_secret_post', 'private_key_jwt']),
  }),
  /** RFC 7523 §2.1, signed with the part `private_key`. */
  z.strictObject({
    kind: z.literal('jwt_bearer'),
    ...tokenDerivationFields,
    issuer: placeholderText,
    /** The subject is left out when a part in it is absent. */
    subject: placeholderText.nullable(),
    audience: placeholderText,
  }),
  /** A token of an installation of a GitHub App, with the parts `app_id` and `private_key`. */
  z.strictObject({ kind: z.literal('github_app'), ...tokenDerivationFields }),
  /**
   * AWS Signature Version 4 of the finished request, with the parts `access_key_id`,
   * `secret_access_key` and `session_token`.
   */
  z.strictObject({
    kind: z.literal('aws_sigv4'),
    ...partsDerivationFields,
    service: awsName,
    /**
     * Each `{variable}` in it is replaced by the variable of the server with this name, or
     * otherwise by the part of the secret.
     */
    region: placeholderText,
  }),
]);
export type CredentialDerivation = z.infer<typeof credentialDerivation>;

/** The derivations that request a token from a host. */
export type TokenDerivation = Exclude<CredentialDerivation, { kind: 'aws_sigv4' }>;
