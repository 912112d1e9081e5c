export function Safety(_props: { readonly rest: string }) {
  return null
}
