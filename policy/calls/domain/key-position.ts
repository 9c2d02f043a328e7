import type { ScopeOfKey } from '#templates';

/**
 * The name of one position of a permission key in messages (`label`), and the kind of its values
 * (`as`), which decides how a suggested rule makes the position broader.
 */
export type KeyPosition = Pick<ScopeOfKey, 'label' | 'as'>;
