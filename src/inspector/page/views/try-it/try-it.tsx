export function TryIt(_props: { readonly rest: string }) {
  return null
}
