import { findCollision } from '#contracts/credential-place';
import type { JsonObject } from '../../document/domain/context.ts';
import type { CredentialParameters, NeededSchemes } from './credential-parameters.ts';
import type { FoundOperation } from './operations.ts';
import {
  convertRequirements,
  credentialTargetOf,
  requirementsMax,
  schemesTogetherMax,
} from './security.ts';
import type { Schemes } from './security.ts';
import type { ImportSource } from './source.ts';

/**
 * The alternatives that the document states. If the document has no `security`, they are collected
 * from the `security` of its operations.
 */
export function findStatedSecurity(
  source: ImportSource,
  { schemes, found }: { schemes: Schemes; found: readonly FoundOperation[] },
): JsonObject[] | undefined {
  const { document } = source;
  const ownRequirements = convertRequirements(
    source,
    { value: document['security'], path: ['security'] },
    schemes,
  );
  if (ownRequirements !== undefined) return ownRequirements.map(stripScopes);
  if ('security' in document) return undefined;
  const alternatives = new Map<string, JsonObject>();
  for (const { operation } of found) {
    const securityNode = {
      value: operation.value['security'],
      path: [...operation.path, 'security'],
    };
    for (const requirement of convertRequirements(source, securityNode, schemes) ?? []) {
      const schemeNames = Object.keys(requirement).toSorted();
      if (schemeNames.length > 0 && alternatives.size < 20)
        alternatives.set(schemeNames.join(' '), stripScopes(requirement));
    }
  }
  return alternatives.size === 0 ? undefined : [...alternatives.values()];
}

/**
 * Removes the scopes from an alternative of the whole document, because each operation states its
 * own scopes.
 */
function stripScopes(requirement: JsonObject): JsonObject {
  return Object.fromEntries(Object.keys(requirement).map((name) => [name, []]));
}

/** The field `security` of the template. */
export function buildSecurity(
  stated: readonly JsonObject[] | undefined,
  { needed, schemes }: CredentialParameters,
): JsonObject {
  if (needed.length > 0) return { security: withNeededSchemes(stated ?? [], needed, schemes) };
  return stated === undefined ? {} : { security: [...stated] };
}

/**
 * The alternatives of the template, with the schemes that operations need in addition to those of
 * their `security`. Schemes that all or most operations need are added to each alternative.
 */
function withNeededSchemes(
  alternatives: readonly JsonObject[],
  needed: readonly NeededSchemes[],
  schemes: Schemes,
): JsonObject[] {
  const join = (alternative: JsonObject, names: readonly string[]): JsonObject[] => {
    const joined = { ...alternative, ...Object.fromEntries(names.map((name) => [name, []])) };
    const all = Object.keys(joined);
    const targets = all.map((name) => credentialTargetOf(schemes.get(name) ?? {}));
    return all.length > schemesTogetherMax || findCollision(targets) !== undefined ? [] : [joined];
  };
  const stated = alternatives.filter((each) => Object.keys(each).length > 0);
  const bases = stated.length > 0 ? stated : [{}];
  const widenedAlternatives = bases.flatMap((base) =>
    needed.flatMap(({ names }) => join(base, names)),
  );
  const areCommon = needed.some(({ isCommon }) => isCommon) && widenedAlternatives.length > 0;
  const kept = areCommon || stated.length === 0 ? [] : alternatives;
  return [...kept, ...widenedAlternatives].slice(0, requirementsMax);
}
