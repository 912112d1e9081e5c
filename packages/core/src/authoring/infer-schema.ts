/**
 * The TypeScript type that a JSON Schema accepts, for the keywords people write by hand. Unsupported keywords give
 * `unknown`, never a wrong type.
 */
export type InferSchema<Schema> = Schema extends { readonly const: infer Value }
  ? Value
  : Schema extends { readonly enum: readonly (infer Value)[] }
    ? Value
    : Schema extends
          | { readonly anyOf: readonly (infer Member)[] }
          | { readonly oneOf: readonly (infer Member)[] }
      ? InferSchema<Member>
      : Schema extends { readonly type: readonly (infer Name)[] }
        ? InferType<Name, Schema>
        : Schema extends { readonly type: infer Name }
          ? InferType<Name, Schema>
          : unknown

type InferType<Name, Schema> = Name extends 'string'
  ? string
  : Name extends 'number' | 'integer'
    ? number
    : Name extends 'boolean'
      ? boolean
      : Name extends 'null'
        ? null
        : Name extends 'array'
          ? InferItems<Schema>
          : Name extends 'object'
            ? InferObject<Schema>
            : unknown

type InferItems<Schema> = Schema extends { readonly items: infer Item } ? InferSchema<Item>[] : unknown[]

type InferObject<Schema> = Schema extends { readonly properties: infer Properties }
  ? Simplify<
      { -readonly [Key in RequiredKeys<Schema, Properties>]: InferSchema<Properties[Key]> } & {
        -readonly [Key in Exclude<keyof Properties, RequiredKeys<Schema, Properties>>]?: InferSchema<
          Properties[Key]
        >
      }
    >
  : Record<string, unknown>

type RequiredKeys<Schema, Properties> = Schema extends { readonly required: readonly (infer Key)[] }
  ? Extract<Key, keyof Properties>
  : never

type Simplify<Type> = { [Key in keyof Type]: Type[Key] } & {}
