import fc from 'fast-check';
import type { z } from 'zod';

type Schema = z.core.$ZodType & Pick<z.ZodType, 'safeParse'>;
type Definition = z.core.$ZodTypes['_zod']['def'];

/** Text of every form that some schema of the contracts requires. */
const texts = [
  'github',
  'org/github',
  'GET',
  '0198c0de-0000-7000-8000-000000000001',
  '2026-01-01T00:00:00.000Z',
  'https://api.example.com/v1',
  'https://issuer.example.com',
  'api.example.com',
  'ann@example.com',
  'approval.*',
  'user.login',
  'x-header',
  'a'.repeat(43),
  'f'.repeat(64),
  '1',
  '',
  'A sentence with some words.',
  '{"a":1}',
  '203.0.113.7',
  '90d',
  '.id',
  '.[]',
];

/** Values that the schema accepts. */
export function arbitraryOf(schema: z.core.$ZodType): fc.Arbitrary<unknown> {
  const accepts = (value: unknown) => (schema as Schema).safeParse(value).success;
  return candidatesOf(schema).filter(accepts);
}

function candidatesOf(schema: z.core.$ZodType): fc.Arbitrary<unknown> {
  const definition = schema._zod.def as Definition;
  const accepts = (value: unknown) => (schema as Schema).safeParse(value).success;
  switch (definition.type) {
    case 'object': {
      const members = Object.entries(definition.shape).map(([name, member]) => [
        name,
        arbitraryOf(member),
      ]);
      return fc
        .record(Object.fromEntries(members) as Record<string, fc.Arbitrary<unknown>>)
        .map((value) =>
          Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined)),
        );
    }
    case 'array': {
      const checks = (definition.checks ?? []) as readonly {
        _zod: { def: { minimum?: number } };
      }[];
      const minimum = Math.max(0, ...checks.map(({ _zod }) => _zod.def.minimum ?? 0));
      return fc.array(arbitraryOf(definition.element), {
        minLength: minimum,
        maxLength: minimum + 1,
      });
    }
    case 'record':
      return fc.dictionary(
        arbitraryOf(definition.keyType) as fc.Arbitrary<string>,
        arbitraryOf(definition.valueType),
        { maxKeys: 2 },
      );
    case 'union':
      return fc.oneof(...definition.options.map(arbitraryOf));
    case 'optional':
      return fc.option(arbitraryOf(definition.innerType), { nil: undefined });
    case 'default':
      return fc.option(arbitraryOf(definition.innerType), { nil: undefined });
    case 'nullable':
      return fc.option(arbitraryOf(definition.innerType), { nil: null });
    case 'enum':
      return fc.constantFrom(...Object.values(definition.entries));
    case 'literal':
      return fc.constantFrom(...definition.values);
    case 'boolean':
      return fc.boolean();
    case 'null':
      return fc.constant(null);
    case 'number':
      return fc.constantFrom(...[1, 0, 8, 300, 65_536].filter(accepts));
    case 'string':
      return fc.constantFrom(...texts.filter(accepts));
    case 'unknown':
      return fc.constantFrom('any', null, 1, [{}], { a: { b: 1 } });
    default:
      throw new Error(`The contracts have a schema of the type ${definition.type}.`);
  }
}

/** The value as a later release might write it: with one more member in each object. */
export function withAddedMembers(schema: z.core.$ZodType, value: unknown): unknown {
  const definition = schema._zod.def as Definition;
  switch (definition.type) {
    case 'object': {
      const members = Object.entries(value as Record<string, unknown>).map(([name, member]) => {
        const memberSchema = definition.shape[name];
        return [name, memberSchema === undefined ? member : withAddedMembers(memberSchema, member)];
      });
      return { ...(Object.fromEntries(members) as object), added_member: { of: ['it'] } };
    }
    case 'array':
      return (value as unknown[]).map((item) => withAddedMembers(definition.element, item));
    case 'record':
      return Object.fromEntries(
        Object.entries(value as Record<string, unknown>).map(([name, member]) => [
          name,
          withAddedMembers(definition.valueType, member),
        ]),
      );
    case 'union': {
      const option = definition.options.find((each) => (each as Schema).safeParse(value).success);
      return option === undefined ? value : withAddedMembers(option, value);
    }
    case 'optional':
    case 'default':
    case 'nullable':
      return value === undefined || value === null
        ? value
        : withAddedMembers(definition.innerType, value);
    default:
      return value;
  }
}
