import type { CompiledAction, CompiledParam, CompiledTemplate } from '#contracts/template';
import { isObject } from '../../registry/document/domain/context.ts';
import type { PublishedDocument } from '../support/prism.ts';
import type { Check } from './check.ts';
import { findOfficialOperation } from './official.ts';
import type { OfficialField, OfficialOperation } from './official.ts';

/**
 * A difference between an action and the provider's document. An exception in `checks/<key>.yaml`
 * repeats the text of `about`.
 */
export interface Difference {
  readonly action: string;
  readonly about: string;
}

/**
 * Returns the path under which the provider's document describes an action. It may differ from the
 * template's path.
 */
export function providerPathOf(
  path: string,
  { prefix, paths }: Pick<Check, 'prefix' | 'paths'>,
  { onTheWire = false } = {},
): string {
  // A request needs no rename if one placeholder stands for two of the document: the value of
  // `{repository}` is `acme/site`, which already fills the document's `{owner}/{repo}`.
  const pathRenaming = paths.find(
    ({ ours, theirs }) => path.startsWith(ours) && !(onTheWire && theirs.includes('{')),
  );
  const providerSpelling = pathRenaming
    ? pathRenaming.theirs + path.slice(pathRenaming.ours.length)
    : path;
  return providerSpelling.startsWith(prefix)
    ? providerSpelling.slice(prefix.length)
    : providerSpelling;
}

/** All differences between a template's actions and the provider's documents. */
export function findDifferences(
  template: CompiledTemplate,
  check: Check,
  documents: readonly PublishedDocument[],
): Difference[] {
  const ownHeaderNames = template.auth.flatMap((method) =>
    method.type === 'apiKey' ? [method.name] : [],
  );
  const credentials = [...ownHeaderNames, ...check.credentials].map((name) => name.toLowerCase());
  return Object.values(template.actions).flatMap((action) => {
    const path = providerPathOf(action.path, check);
    const officialOperation = findOfficialOperation(documents, { method: action.method, path });
    const about =
      officialOperation === undefined
        ? [`no ${action.method} ${path}`]
        : compareAction(action, officialOperation.operation, credentials);
    return about.map((each) => ({ action: action.key, about: each }));
  });
}

function compareAction(
  action: CompiledAction,
  official: OfficialOperation,
  credentials: readonly string[],
): string[] {
  const about: string[] = [];
  for (const param of action.params) {
    if (param.in === 'path' || param.in === 'body') continue;
    const officialParam = official.params[`${param.in} ${param.wireName}`];
    if (officialParam === undefined) {
      // A fixed header, such as an API version, belongs to the whole service. So the provider's
      // document need not describe it for each operation.
      if (param.in === 'header' && 'const' in param.schema) continue;
      about.push(`unknown ${param.in} parameter ${param.wireName}`);
    } else {
      // A query transmits every value as text. So a document's type `string` agrees with any type
      // in the template.
      const types = officialParam.types.includes('string') ? [] : officialParam.types;
      const place = `${param.in} parameter ${param.wireName}`;
      about.push(...compareField(place, param.schema, { ...officialParam, types }));
    }
  }
  for (const [place, officialParam] of Object.entries(official.params)) {
    const [where = '', name = ''] = place.split(' ');
    if (!officialParam.required || where === 'path' || where === 'body' || where === 'formData')
      continue;
    if (
      credentials.includes(name.toLowerCase()) ||
      /^(authorization|content-type|accept)$/i.test(name)
    )
      continue;
    const ownParam = action.params.find(
      (param) => param.in === where && param.wireName.toLowerCase() === name.toLowerCase(),
    );
    if (!isAlwaysSent(ownParam)) about.push(`required ${where} parameter ${name}`);
  }
  return [...about, ...compareBody(action, official)];
}

function isAlwaysSent(param: CompiledParam | undefined): boolean {
  return (
    param !== undefined && (param.required || 'const' in param.schema || 'default' in param.schema)
  );
}

function compareBody(action: CompiledAction, { body, bodyRequired }: OfficialOperation): string[] {
  const ownParam = action.params.filter((param) => param.in === 'body');
  if (action.body === null) return bodyRequired && body !== undefined ? ['required body'] : [];
  if (body === undefined) return ownParam.length > 0 ? ['unknown body'] : [];
  if (action.body.wholeBody) {
    return compareField('body', ownParam[0]?.schema ?? {}, body);
  }
  const members = body.members();
  if (members === undefined) return [];
  const about: string[] = [];
  if (action.compose !== undefined) return compareComposed(action.compose.into, ownParam, members);
  for (const param of ownParam) {
    const officialParam = members[param.wireName];
    if (officialParam === undefined) about.push(`unknown body parameter ${param.wireName}`);
    else
      about.push(...compareField(`body parameter ${param.wireName}`, param.schema, officialParam));
  }
  for (const [name, officialParam] of Object.entries(members)) {
    const sentParam = ownParam.find((param) => param.wireName === name);
    if (officialParam.required && !isAlwaysSent(sentParam))
      about.push(`required body parameter ${name}`);
  }
  return about;
}

/**
 * Compares the member that contains the composed message, and the other members beside it. The
 * fields from which the message is composed are not compared, because the provider does not see
 * them.
 */
function compareComposed(
  into: readonly string[],
  ownParams: readonly CompiledParam[],
  official: Readonly<Record<string, OfficialField>>,
): string[] {
  const [name = '', ...itemSchema] = into;
  const beside = ownParams.filter(({ style }) => style !== 'mail');
  const schema = [...itemSchema].toReversed().reduce<Record<string, unknown>>(
    (value, step, index) => ({
      type: 'object',
      properties: { [step]: value, ...(index === 0 ? propertiesOf(beside) : {}) },
    }),
    { type: 'string' },
  );
  const ownSchemas = { [name]: schema, ...(itemSchema.length === 0 ? propertiesOf(beside) : {}) };
  return Object.entries(ownSchemas).flatMap(([member, own]) => {
    const officialField = official[member];
    return officialField === undefined
      ? [`unknown body parameter ${member}`]
      : compareField(`body parameter ${member}`, own, officialField);
  });
}

function propertiesOf(params: readonly CompiledParam[]): Record<string, CompiledParam['schema']> {
  return Object.fromEntries(params.map(({ wireName, schema }) => [wireName, schema]));
}

/**
 * Compares one value. The template's schema may accept fewer values than the provider's schema, but
 * never more.
 */
function compareField(place: string, schema: unknown, officialParam: OfficialField): string[] {
  if (!isObject(schema)) return [];
  const about: string[] = [];
  const types = typesOf(schema);
  const isKnown = (type: string) =>
    officialParam.types.includes(type) ||
    (type === 'integer' && officialParam.types.includes('number')) ||
    type === 'null';
  if (officialParam.types.length > 0 && types.some((type) => !isKnown(type))) {
    about.push(`type of ${place}: ${types.join(' or ')}, not ${officialParam.types.join(' or ')}`);
  }
  const values = valuesOf(schema).filter((value) => value !== null);
  const valuesBeyond =
    officialParam.values.length === 0
      ? []
      : values.filter((value) => !officialParam.values.includes(value));
  if (valuesBeyond.length > 0)
    about.push(`values of ${place}: ${valuesBeyond.map(String).join(', ')}`);

  const itemSchema = isObject(schema['items']) ? schema['items'] : schema;
  const properties = isObject(itemSchema['properties']) ? itemSchema['properties'] : {};
  const members = Object.keys(properties).length === 0 ? undefined : officialParam.members();
  if (members === undefined) return about;
  const required = Array.isArray(itemSchema['required']) ? itemSchema['required'] : [];
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
