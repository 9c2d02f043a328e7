import { credentialPartName } from '#contracts/credential-derivation';
import type { CredentialPart } from '#contracts/credential-derivation';
import { isObject } from '../../document/domain/context.ts';
import type { CompileContext, DocumentNode, JsonObject } from '../../document/domain/context.ts';
import { checkFields } from '../../document/domain/fields.ts';
import { readFlag, readList, readObject, readText } from '../../document/domain/reading.ts';

/** The parts that are secret wherever they occur. */
const secretPartNames = ['client_secret', 'private_key', 'secret_access_key', 'session_token'];

export function partsField(parts: readonly CredentialPart[]) {
  return {
    required: parts.filter(({ optional }) => !optional).map(({ name }) => name),
    secret: parts.filter(({ secret }) => secret).map(({ name }) => name),
  };
}

export function compileParts(
  context: CompileContext,
  node: DocumentNode<JsonObject>,
  neededParts: { plain: readonly string[]; secret: readonly string[] },
): CredentialPart[] | undefined {
  const entries = readList(context, node, { key: 'x-service-parts', max: 20 });
  const parts = entries.flatMap((entry) => compilePart(context, entry) ?? []);
  const names = parts.map(({ name }) => name);
  if (parts.length < entries.length) return undefined;
  if (new Set(names).size < names.length) {
    refuseScheme(context, node, 'Two parts have the same name. Rename one.');
    return undefined;
  }
  const lackingNames = [...neededParts.plain, ...neededParts.secret].filter(
    (name) => !parts.some((part) => part.name === name && !part.optional),
  );
  if (lackingNames.length > 0) {
    refuseScheme(
      context,
      node,
      `List ${lackingNames.join(' and ')} under "parts", each as {name, label}: the grant needs ${lackingNames.length === 1 ? 'it' : 'them'}.`,
    );
    return undefined;
  }
  return parts;
}

function compilePart(context: CompileContext, entry: DocumentNode): CredentialPart | undefined {
  if (!isObject(entry.value)) {
    context.findings.error('wrong_type', entry.path, 'A part must be an object {name, label}.');
    return undefined;
  }
  const node = { value: entry.value, path: entry.path };
  checkFields(context, node, 'credential part');
  const name = readText(context, node, { key: 'name', max: 63, required: true });
  const label = readText(context, node, { key: 'label', max: 100, required: true });
  const secret = readFlag(context, node, 'secret') ?? false;
  const optional = readFlag(context, node, 'optional') ?? false;
  if (name === undefined || label === undefined) return undefined;
  if (!credentialPartName.safeParse(name).success || name === 'origin') {
    const message =
      'The name of a part starts with a letter and holds only lower-case letters, digits and "_"; "origin" is taken.';
    refuseScheme(context, { ...node, path: [...node.path, 'name'] }, message);
    return undefined;
  }
  return { name, label, secret: secret || secretPartNames.includes(name), optional };
}

export const placeholder = /\{([^{}]*)\}/g;

export function checkPlaceholders(
  context: CompileContext,
  node: DocumentNode<JsonObject>,
  { texts, knownNames }: { texts: readonly (string | undefined)[]; knownNames: readonly string[] },
): boolean {
  const usedNames = texts.flatMap((text) =>
    [...(text ?? '').matchAll(placeholder)].map(([, name = '']) => name),
  );
  const unknownName = usedNames.find((name) => !knownNames.includes(name));
  if (unknownName === undefined) return true;
  refuseScheme(context, node, `{${unknownName}} is no part of the secret. List it under "parts".`);
  return false;
}

export function readChoice<Choice extends string>(
  context: CompileContext,
  node: DocumentNode<JsonObject>,
  {
    key,
    choices,
    otherwise,
  }: { key: string; choices: readonly Choice[]; otherwise: Choice | undefined },
): Choice | undefined {
  const value = node.value[key];
  if (value === undefined && otherwise !== undefined) return otherwise;
  const choice = choices.find((each) => each === value);
  if (choice === undefined) {
    refuseScheme(context, node, `"${key}" of the grant must be ${choices.join(' or ')}.`);
  }
  return choice;
}

export function refuseScheme(
  { findings }: CompileContext,
  { path }: DocumentNode,
  message: string,
): void {
  findings.error('security_scheme_invalid', path, message);
}
export function readGrant(
  context: CompileContext,
  node: DocumentNode<JsonObject>,
): DocumentNode<JsonObject> | undefined {
  if (node.value['x-service-grant'] === undefined) return { value: {}, path: node.path };
  const grant = readObject(context, node, 'x-service-grant');
  if (grant !== undefined) checkFields(context, grant, 'grant');
  return grant;
}
