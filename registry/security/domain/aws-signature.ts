import { awsName } from '#contracts/credential-derivation';
import type { AuthMethod } from '#contracts/template';
import { isObject } from '../../document/domain/context.ts';
import type { CompileContext, DocumentNode, JsonObject } from '../../document/domain/context.ts';
import { readText } from '../../document/domain/reading.ts';
import {
  checkPlaceholders,
  compileParts,
  partsField,
  readGrant,
  refuseScheme,
} from './credential-parts.ts';
import { readSecretName } from './secret-name.ts';

const signatureKind = 'aws_sigv4';
const neededParts = { plain: ['access_key_id'], secret: ['secret_access_key'] };

/** Whether a scheme of `type: apiKey` signs requests instead of sending a key. */
export function isSignature({ value }: DocumentNode<JsonObject>): boolean {
  const grant = value['x-service-grant'];
  return value['type'] === 'apiKey' && isObject(grant) && grant['type'] === signatureKind;
}

/**
 * Compiles a scheme by which the executor signs requests (AWS Signature Version 4), with a key that
 * is a secret of several parts. `variables` are the names of the server's variables.
 */
export function compileSignature(
  context: CompileContext,
  node: DocumentNode<JsonObject>,
  { scheme, variables }: { scheme: string; variables: readonly string[] },
): AuthMethod | undefined {
  const defaultSecretName = readSecretName(context, node);
  const name = readText(context, node, { key: 'name', max: 200, required: true });
  const grant = readGrant(context, node);
  if (grant === undefined || defaultSecretName === undefined) return undefined;
  if (node.value['in'] !== 'header' || name?.toLowerCase() !== 'authorization') {
    refuseScheme(
      context,
      node,
      'A signature goes into the header Authorization: write "in: header" and "name: Authorization".',
    );
    return undefined;
  }
  const service = readText(context, grant, { key: 'service', max: 63, required: true });
  const region = readText(context, grant, { key: 'region', max: 200, required: true });
  const parts = compileParts(context, node, neededParts);
  if (parts === undefined || service === undefined || region === undefined) return undefined;
  const areNamesValid = [service, region.replaceAll(/\{[^{}]*\}/g, 'x')].every(
    (text) => awsName.safeParse(text).success,
  );
  if (!areNamesValid) {
    const message =
      'The names of "service" and "region" hold lower-case letters, digits and "-", such as s3 and eu-west-1; "region" may be a {variable} of the server.';
    refuseScheme(context, grant, message);
    return undefined;
  }
  const knownNames = [...parts.map((part) => part.name), ...variables];
  if (!checkPlaceholders(context, grant, { texts: [region], knownNames })) return undefined;
  return {
    type: 'apiKey',
    scheme,
    in: 'header',
    name: 'Authorization',
    prefix: '',
    encoding: 'derived',
    defaultSecretName,
    parts,
    derivation: { kind: signatureKind, ...partsField(parts), service, region },
  };
}
