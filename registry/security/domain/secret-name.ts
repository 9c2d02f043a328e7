import type { CompileContext, DocumentNode, JsonObject } from '../../document/domain/context.ts';
import { readText } from '../../document/domain/reading.ts';

export const secretNamePattern = /^[a-z][a-z0-9_-]{0,62}$/;

/** Reads the name of the suggested secret; undefined when it is missing or invalid. */
export function readSecretName(
  context: CompileContext,
  node: DocumentNode<JsonObject>,
): string | undefined {
  const key = 'x-service-default-secret-name';
  const name = readText(context, node, { key, max: 63, required: true });
  if (name === undefined || secretNamePattern.test(name)) return name;
  const message =
    'A secret\'s name starts with a letter and holds only lower-case letters, digits, "_" and "-".';
  context.findings.error('security_scheme_invalid', [...node.path, key], message);
  return undefined;
}
