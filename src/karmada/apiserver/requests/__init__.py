"""The request pipeline: what every verb does between an authorised request and the store."""
