@problemName p
@classLabel true a b
@data
:a
