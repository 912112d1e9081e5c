export function Sessions(_props: { readonly rest: string }) {
  return null
}
