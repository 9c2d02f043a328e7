import type { CompiledAction, CompiledParam, CompiledTemplate } from '#contracts/template';
import { isObject } from '../../registry/domain/context.ts';
import type { PublishedDocument } from '../support/prism.ts';
import type { Check } from './check.ts';
import { findOfficial } from './official.ts';
import type { OfficialField, OfficialOperation } from './official.ts';

/** A difference between an action and the provider's document; `about` is what an exception names. */
export interface Difference {
  readonly action: string;
  readonly about: string;
}

/** Where an action goes, in the spelling of the provider's document. */
export function theirPath(
  path: string,
  { prefix, paths }: Pick<Check, 'prefix' | 'paths'>,
  { onTheWire = false } = {},
): string {
  // That two placeholders are one parameter is nothing the wire shows.
  const renamed = paths.find(
    ({ ours, theirs }) => path.startsWith(ours) && !(onTheWire && theirs.includes('{')),
  );
  const spelt = renamed ? renamed.theirs + path.slice(renamed.ours.length) : path;
  return spelt.startsWith(prefix) ? spelt.slice(prefix.length) : spelt;
}

/** Everything in which a template's actions disagree with what the provider published. */
export function differences(
  template: CompiledTemplate,
  check: Check,
  documents: readonly PublishedDocument[],
): Difference[] {
  const own = template.auth.flatMap((method) => (method.type === 'apiKey' ? [method.name] : []));
  const credentials = [...own, ...check.credentials].map((name) => name.toLowerCase());
  return Object.values(template.actions).flatMap((action) => {
    const path = theirPath(action.path, check);
    const found = findOfficial(documents, { method: action.method, path });
    const about =
      found === undefined
        ? [`no ${action.method} ${path}`]
        : compare(action, found.operation, credentials);
    return about.map((each) => ({ action: action.key, about: each }));
  });
}

function compare(
  action: CompiledAction,
  official: OfficialOperation,
  credentials: readonly string[],
): string[] {
  const about: string[] = [];
  for (const param of action.params) {
    if (param.in === 'path' || param.in === 'body') continue;
    const theirs = official.params[`${param.in} ${param.wireName}`];
    if (theirs === undefined) {
      // Versions and media types are headers of the service, not of the operation.
      if (param.in === 'header' && 'const' in param.schema) continue;
      about.push(`unknown ${param.in} parameter ${param.wireName}`);
    } else {
      // Everything in a query is text on the wire: documents that say so mean the same.
      const types = theirs.types.includes('string') ? [] : theirs.types;
      const place = `${param.in} parameter ${param.wireName}`;
      about.push(...compareField(place, param.schema, { ...theirs, types }));
    }
  }
  for (const [place, theirs] of Object.entries(official.params)) {
    const [where = '', name = ''] = place.split(' ');
    if (!theirs.required || where === 'path' || where === 'body' || where === 'formData') continue;
    if (
      credentials.includes(name.toLowerCase()) ||
      /^(authorization|content-type|accept)$/i.test(name)
    )
      continue;
    const ours = action.params.find(
      (param) => param.in === where && param.wireName.toLowerCase() === name.toLowerCase(),
    );
    if (!isAlwaysSent(ours)) about.push(`required ${where} parameter ${name}`);
  }
  return [...about, ...compareBody(action, official)];
}

function isAlwaysSent(param: CompiledParam | undefined): boolean {
  return (
    param !== undefined && (param.required || 'const' in param.schema || 'default' in param.schema)
  );
}

function compareBody(action: CompiledAction, { body, bodyRequired }: OfficialOperation): string[] {
  const ours = action.params.filter((param) => param.in === 'body');
  if (action.body === null) return bodyRequired && body !== undefined ? ['required body'] : [];
  if (body === undefined) return ours.length > 0 ? ['unknown body'] : [];
  if (action.body.wholeBody) {
    return compareField('body', ours[0]?.schema ?? {}, body);
  }
  const members = body.members();
  if (members === undefined) return [];
  const about: string[] = [];
  for (const param of ours) {
    const theirs = members[param.wireName];
    if (theirs === undefined) about.push(`unknown body parameter ${param.wireName}`);
    else about.push(...compareField(`body parameter ${param.wireName}`, param.schema, theirs));
  }
  for (const [name, theirs] of Object.entries(members)) {
    const sent = ours.find((param) => param.wireName === name);
    if (theirs.required && !isAlwaysSent(sent)) about.push(`required body parameter ${name}`);
  }
  return about;
}

/** Ours may be narrower than theirs, never wider. */
function compareField(place: string, schema: unknown, theirs: OfficialField): string[] {
  if (!isObject(schema)) return [];
  const about: string[] = [];
  const types = typesOf(schema);
  const isKnown = (type: string) =>
    theirs.types.includes(type) ||
    (type === 'integer' && theirs.types.includes('number')) ||
    type === 'null';
  if (theirs.types.length > 0 && types.some((type) => !isKnown(type))) {
    about.push(`type of ${place}: ${types.join(' or ')}, not ${theirs.types.join(' or ')}`);
  }
  const values = valuesOf(schema).filter((value) => value !== null);
  const beyond =
    theirs.values.length === 0 ? [] : values.filter((value) => !theirs.values.includes(value));
  if (beyond.length > 0) about.push(`values of ${place}: ${beyond.map(String).join(', ')}`);

  const inner = isObject(schema['items']) ? schema['items'] : schema;
  const properties = isObject(inner['properties']) ? inner['properties'] : {};
  const members = Object.keys(properties).length === 0 ? undefined : theirs.members();
  if (members === undefined) return about;
  const required = Array.isArray(inner['required']) ? inner['required'] : [];
  for (const [name, property] of Object.entries(properties)) {
    const member = members[name];
    if (member === undefined) about.push(`unknown ${place}.${name}`);
    else about.push(...compareField(`${place}.${name}`, property, member));
  }
  for (const [name, member] of Object.entries(members)) {
    const property = properties[name];
    const isSent =
      required.includes(name) ||
      (isObject(property) && ('const' in property || 'default' in property));
    if (member.required && !isSent) about.push(`required ${place}.${name}`);
  }
  return about;
}

function typesOf(schema: Record<string, unknown>): string[] {
  const { type } = schema;
  if (typeof type === 'string') return [type];
  return Array.isArray(type) ? type.filter((each) => typeof each === 'string') : [];
}

function valuesOf(schema: Record<string, unknown>): unknown[] {
  if ('const' in schema) return [schema['const']];
  return Array.isArray(schema['enum']) ? schema['enum'] : [];
}
