@problemName p
@classLabel true a b a
@data
1:a
