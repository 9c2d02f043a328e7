import { accountLookUp } from '#contracts/account-value';
import type { AccountLookUp } from '#contracts/account-value';
import { isObject } from '../../document/domain/context.ts';
import type { CompileContext, DocumentNode, JsonObject } from '../../document/domain/context.ts';
import { checkFields } from '../../document/domain/fields.ts';
import { parseBaseUrl } from './base-url.ts';

const key = 'x-service-account';

/**
 * Reads how the account of a connection gives the value of a server variable. Undefined when the
 * variable has a value that is given in another way.
 */
export function readAccountLookUp(
  context: CompileContext,
  variable: DocumentNode<JsonObject>,
  place: 'host' | 'path',
): AccountLookUp | undefined {
  const value = variable.value[key];
  if (value === undefined) return undefined;
  const path = [...variable.path, key];
  const refuse = (message: string) => context.findings.error('server_variable', path, message);
  checkFields(context, { value, path }, 'account look-up');
  const parsed = accountLookUp.safeParse(isObject(value) ? value : {});
  if (!parsed.success) {
    refuse('Give {get, items, value, label?}: a URL, a list such as .[], and members such as .id.');
    return undefined;
  }
  const { get } = parsed.data;
  const [address = ''] = get.split('?', 1);
  const url = parseBaseUrl(address, context.options.isPlainHttpAllowed);
  if (typeof url === 'string' || /[{}#]/.test(get)) {
    refuse('"get" must be an https URL without variables, on a host of the provider.');
  }
  if (place === 'host') {
    refuse(
      'Only a segment of the path may come from the account, as in https://api.example.com/{site}.',
    );
  }
  const hasOwnValue = (variable.value['default'] ?? '') !== '' || 'enum' in variable.value;
  if (hasOwnValue) refuse('The account has the value. Remove "default" and "enum".');
  return parsed.data;
}
