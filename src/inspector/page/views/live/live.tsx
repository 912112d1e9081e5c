export function Live(_props: { readonly rest: string }) {
  return null
}
