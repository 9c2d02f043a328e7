import { isMailField, mailFields } from '#contracts/composed-mail';
import type { CompiledCompose, MailField } from '#contracts/composed-mail';
import type { CompiledAction } from '#contracts/template';
import { bodyKindOf } from '#templates';
import { isObject } from '../../document/domain/context.ts';
import type { CompileContext, JsonObject, DocumentNode } from '../../document/domain/context.ts';
import { checkFields } from '../../document/domain/fields.ts';
import { readObject, readText } from '../../document/domain/reading.ts';
import type { DeclaredParam } from './parameters.ts';

const field = 'x-service-compose';
const encodings = ['base64url', 'base64'] as const;
const intoPattern = /^[A-Za-z_][A-Za-z0-9_]{0,99}(?:\.[A-Za-z_][A-Za-z0-9_]{0,99}){0,3}$/;
const listFields: readonly string[] = ['to', 'cc', 'bcc'] satisfies MailField[];
const attachmentMembers = ['filename', 'content_type', 'base64'];

export interface Composed {
  readonly compose?: CompiledCompose;
  readonly params: readonly DeclaredParam[];
}

/**
 * Compiles `compose`: the action's body holds a message, which the executor composes from the
 * properties of the body that are called like fields of a mail.
 */
export function compileCompose(
  context: CompileContext,
  operation: DocumentNode<JsonObject>,
  { params, body }: { params: readonly DeclaredParam[]; body: CompiledAction['body'] },
): Composed {
  const node = readObject(context, operation, field);
  if (node === undefined) return { params };
  checkFields(context, node, 'compose');
  const refuse = (message: string, key?: string) =>
    context.findings.error('compose_invalid', key ? [...node.path, key] : node.path, message);
  const format = readText(context, node, { key: 'format', max: 100, required: true });
  const into = readText(context, node, { key: 'into', max: 500, required: true });
  const givenEncoding = readText(context, node, { key: 'encoding', max: 100 }) ?? 'base64url';
  const encoding = encodings.find((each) => each === givenEncoding);
  if (format !== undefined && format !== 'rfc822') {
    refuse('The format is rfc822, which is all there is.', 'format');
  }
  if (encoding === undefined) refuse(`"encoding" is ${encodings.join(' or ')}.`, 'encoding');
  if (into !== undefined && !intoPattern.test(into)) {
    refuse('"into" is the path of a member of the body, such as raw or message.raw.', 'into');
  }
  if (body === null || body.wholeBody || bodyKindOf(body.mediaType) !== 'json') {
    refuse('A message is composed from a JSON body that is a plain object.');
    return { params };
  }
  const steps = into?.split('.') ?? [];
  for (const problem of problemsIn(params, steps)) refuse(problem);
  if (into === undefined || encoding === undefined) return { params };
  return {
    compose: { format: 'rfc822', into: steps, encoding },
    params: params.map((param) =>
      param.in === 'body' && isMailField(param.wireName) ? { ...param, style: 'mail' } : param,
    ),
  };
}

function problemsIn(params: readonly DeclaredParam[], steps: readonly string[]): string[] {
  const inBody = params.filter((param) => param.in === 'body');
  const names = inBody.map(({ wireName }) => wireName);
  const missingFields = ['to', 'subject', 'text'].filter((name) => !names.includes(name));
  const taken = new Set([steps.at(-1) ?? '', ...mailFields].map(looseSpelling));
  return [
    ...missingFields.map(
      (name) => `Add the property "${name}" to the body: messages are made from it.`,
    ),
    ...inBody.flatMap(({ wireName, schema }) => {
      if (isMailField(wireName)) return schemaProblem(wireName, schema) ?? [];
      // Servers may read another spelling as the same member.
      return taken.has(looseSpelling(wireName))
        ? [`Rename the property "${wireName}": it reads like a part of the composed message.`]
        : [];
    }),
  ];
}

function looseSpelling(name: string): string {
  return name
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]/gu, '');
}

/**
 * What is wrong with the schema of a mail field; undefined when the schema accepts only what the
 * field may be.
 */
function schemaProblem(name: MailField, schema: JsonObject): string | undefined {
  if (listFields.includes(name)) {
    return isListOf(schema, isText) ? undefined : `"${name}" must be a list of texts.`;
  }
  if (name !== 'attachments') return isText(schema) ? undefined : `"${name}" must be a text.`;
  return isListOf(schema, isAttachment)
    ? undefined
    : `"attachments" must be a list of objects with additionalProperties: false, which require filename and base64 and may have content_type, all of them texts.`;
}

type Check = (schema: JsonObject) => boolean;

function isListOf(schema: JsonObject, isItem: Check): boolean {
  return passes(schema, ({ type, items }) => type === 'array' && isObject(items) && isItem(items));
}

function isText(schema: JsonObject): boolean {
  return passes(schema, ({ type }) => type === 'string');
}

/**
 * Whether the schema, or one of the schemas in its `allOf`, passes the check. A value must match
 * all of them, so one is enough.
 */
function passes(schema: JsonObject, check: Check): boolean {
  const { allOf } = schema;
  if (check(schema)) return true;
  return Array.isArray(allOf) && allOf.some((each) => isObject(each) && check(each));
}

function isAttachment(schema: JsonObject): boolean {
  const { type, properties, required, additionalProperties } = schema;
  if (type !== 'object' || additionalProperties !== false || !isObject(properties)) return false;
  const isRequired = (name: string) => Array.isArray(required) && required.includes(name);
  return (
    ['filename', 'base64'].every(isRequired) &&
    Object.entries(properties).every(
      ([name, each]) => attachmentMembers.includes(name) && isObject(each) && isText(each),
    )
  );
}
