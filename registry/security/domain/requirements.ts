import type { AuthMethod } from '#contracts/template';
import { isObject } from '../../document/domain/context.ts';
import type { CompileContext, JsonObject, DocumentNode } from '../../document/domain/context.ts';
import type { DocumentPath } from '../../document/domain/findings.ts';
import { didYouMean } from '../../document/domain/nearest.ts';
import { entryNodesOf, readList } from '../../document/domain/reading.ts';
import { findCollidingMethod } from './credential-name.ts';

/**
 * One alternative of `security`: the security schemes that a call needs together, with the scopes
 * of each.
 */
export type Requirement = Readonly<Record<string, string[]>>;

/** Reads the alternatives in `security`; null when the document or operation has no `security`. */
export function readRequirements(
  context: CompileContext,
  node: DocumentNode<JsonObject>,
  methods: readonly AuthMethod[],
): Requirement[] | null {
  if (node.value['security'] === undefined) return null;
  return readList(context, node, { key: 'security', max: 20 }).flatMap(({ value, path }) => {
    if (!isObject(value)) {
      const message = 'Each entry of "security" must be an object such as {token: []}.';
      context.findings.error('wrong_type', path, message);
      return [];
    }
    const namedSchemes = entryNodesOf({ value, path });
    const scopesOfSchemes = namedSchemes.map(([scheme, scopes]) => [
      scheme,
      checkRequirement(context, scopes, { scheme, methods }),
    ]);
    const schemes = namedSchemes.map(([scheme]) => scheme);
    const neededMethods = methods.filter(({ scheme }) => schemes.includes(scheme));
    const collidingMethod = findCollidingMethod(neededMethods);
    if (collidingMethod !== undefined) {
      const message = `"${collidingMethod.scheme}" and another scheme of this entry both go into the ${collidingMethod.target}, so only one would be sent. Make them two entries, of which a call needs one.`;
      context.findings.error('security_scheme_invalid', path, message);
    }
    return [Object.fromEntries(scopesOfSchemes) as Requirement];
  });
}

function checkRequirement(
  { findings, document }: CompileContext,
  { value, path }: DocumentNode,
  { scheme, methods }: { scheme: string; methods: readonly AuthMethod[] },
): string[] {
  const method = methods.find((candidate) => candidate.scheme === scheme);
  if (method === undefined) {
    if (isDeclared(document, scheme)) return [];
    const hint = didYouMean(
      scheme,
      methods.map((candidate) => candidate.scheme),
    );
    const message = `"${scheme}" is not declared under components.securitySchemes.${hint}`;
    findings.error('security_scheme_unknown', path, message);
    return [];
  }
  if (!Array.isArray(value) || !value.every((scope) => typeof scope === 'string')) {
    findings.error(
      'wrong_type',
      path,
      'The scopes of a scheme must be a list of strings, [] for none.',
    );
    return [];
  }
  return method.type === 'oauth2' ? checkScopes(findings, { scopes: value, path, method }) : [];
}

/**
 * Whether the document declares the security scheme, validly or not. An invalid declaration has its
 * own finding.
 */
function isDeclared(document: JsonObject, scheme: string): boolean {
  const components = document['components'];
  const schemes = isObject(components) ? components['securitySchemes'] : undefined;
  return isObject(schemes) && Object.hasOwn(schemes, scheme);
}

function checkScopes(
  findings: CompileContext['findings'],
  {
    scopes,
    path,
    method,
  }: { scopes: string[]; path: DocumentPath; method: AuthMethod & { type: 'oauth2' } },
): string[] {
  const unknownScopes =
    method.scopes.length > 0 ? scopes.filter((scope) => !method.scopes.includes(scope)) : [];
  for (const scope of unknownScopes) {
    const message = `"${scope}" is not among the scopes of "${method.scheme}", so it could never be granted.${didYouMean(scope, method.scopes)}`;
    findings.error('scope_unknown', path, message);
  }
  return scopes;
}
